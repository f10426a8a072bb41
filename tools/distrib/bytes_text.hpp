// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace tools {

/// Returns a size in words: "1.5 GiB", "12 KiB", "7 B".
[[nodiscard]] inline auto bytes_text(std::uint64_t bytes) -> std::string {
  constexpr std::string_view units[] = {" B", " KiB", " MiB", " GiB", " TiB", " PiB", " EiB"};
  std::size_t unit = 0;
  std::uint64_t tenths = 0;
  while (bytes >= 1024 && unit + 1 < std::size(units)) {
    tenths = bytes % 1024 * 10 / 1024;
    bytes /= 1024;
    ++unit;
  }
  std::string text = std::to_string(bytes);
  if (unit > 0 && bytes < 10) (text += '.') += std::to_string(tenths);
  return text += units[unit];
}

}  // namespace tools
