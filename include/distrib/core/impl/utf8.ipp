// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/utf8.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void append_utf8(std::string& text, unsigned character) {
  const auto put = [&text](unsigned byte) { text += static_cast<char>(static_cast<unsigned char>(byte)); };
  const auto put_rest = [&](unsigned shift) { put(0x80 | (character >> shift & 0x3F)); };
  if (character < 0x80) {
    put(character);
  } else if (character < 0x800) {
    put(0xC0 | character >> 6);
    put_rest(0);
  } else if (character < 0x10000) {
    put(0xE0 | character >> 12);
    put_rest(6);
    put_rest(0);
  } else {
    put(0xF0 | character >> 18);
    put_rest(12);
    put_rest(6);
    put_rest(0);
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
