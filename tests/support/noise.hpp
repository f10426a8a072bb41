// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>

namespace support {

/// Returns `size` pseudo-random bytes, the same ones each time.
inline auto noise(std::size_t size, unsigned seed = 1) -> std::string {
  std::string text(size, ' ');
  for (char& c : text) c = static_cast<char>((seed = seed * 1664525u + 1013904223u) >> 24);
  return text;
}

}  // namespace support
