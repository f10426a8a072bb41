// SPDX-License-Identifier: Apache-2.0
// Bytes that the tests of events compare.
#pragma once

#include <distrib/core/protowire.hpp>
#include <distrib/core/sha256.hpp>

#include <cstdint>
#include <string_view>

namespace support {

/// TensorFlow's event of the scalar 0.25 with the tag "loss" at step 100.
inline constexpr std::string_view scalar_event_hex =
    "090000601088d4d54110642a230a210a046c6f7373420a0801120022040000803e4a0d0a090a077363616c6172732001";

/// Returns the content of the first field `field` of a message; empty if there is none.
inline auto field_of(distrib::ByteView message, std::uint32_t field) -> distrib::ByteView {
  distrib::WireReader reader{message};
  while (reader.next())
    if (reader.field() == field) return reader.bytes();
  return {};
}

}  // namespace support
