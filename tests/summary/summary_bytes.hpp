// SPDX-License-Identifier: Apache-2.0
// What the tests of events compare.
#pragma once

#include <distrib/core/protowire.hpp>
#include <distrib/core/sha256.hpp>

#include <cstdint>

namespace support {

/// The content of the first field `field` of a message; empty: there is none.
inline auto field_of(distrib::ByteView message, std::uint32_t field) -> distrib::ByteView {
  distrib::WireReader reader{message};
  while (reader.next())
    if (reader.field() == field) return reader.bytes();
  return {};
}

}  // namespace support
