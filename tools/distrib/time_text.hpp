// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <string>
#include <string_view>

namespace tools {

/// Returns a time in words: "850 ns", "1.2 us", "85 ms", "3600 s".
[[nodiscard]] inline auto time_text(std::chrono::nanoseconds time) -> std::string {
  constexpr std::string_view units[] = {" ns", " us", " ms", " s"};
  std::int64_t count = time.count();
  std::int64_t tenths = 0;
  std::size_t unit = 0;
  while (count >= 1000 && unit + 1 < std::size(units)) {
    tenths = count % 1000 / 100;
    count /= 1000;
    ++unit;
  }
  std::string text = std::to_string(count);
  if (unit > 0 && count < 10) (text += '.') += std::to_string(tenths);
  return text += units[unit];
}

}  // namespace tools
