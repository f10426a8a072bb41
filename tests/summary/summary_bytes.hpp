// SPDX-License-Identifier: Apache-2.0
// What the tests of events compare.
#pragma once

#include <distrib/core/protowire.hpp>

#include <cstddef>
#include <cstdint>
#include <string>

namespace support {

inline auto hex_of(distrib::ByteView bytes) -> std::string {
  std::string hex;
  for (const std::byte byte : bytes) {
    hex += "0123456789abcdef"[static_cast<unsigned>(byte) >> 4];
    hex += "0123456789abcdef"[static_cast<unsigned>(byte) & 15];
  }
  return hex;
}

/// The content of the first field `field` of a message; empty: there is none.
inline auto field_of(distrib::ByteView message, std::uint32_t field) -> distrib::ByteView {
  distrib::WireReader reader{message};
  while (reader.next())
    if (reader.field() == field) return reader.bytes();
  return {};
}

}  // namespace support
