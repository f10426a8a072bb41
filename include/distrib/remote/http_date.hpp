// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// Seconds of Unix time.
using UnixTime = std::chrono::sys_seconds;

namespace detail {

inline auto unix_time(int year, unsigned month, unsigned day, unsigned hour, unsigned minute, unsigned second)
    -> std::optional<UnixTime> {
  const std::chrono::year_month_day date{std::chrono::year{year}, std::chrono::month{month}, std::chrono::day{day}};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  return std::chrono::sys_days{date} + std::chrono::hours{hour} + std::chrono::minutes{minute} +
         std::chrono::seconds{second};
}

/// Reads `text`, in which each digit stands where `form` has a 0, and the other characters are those of `form`. Returns
/// the numbers, at most six.
inline auto read_numbers(std::string_view text, std::string_view form) -> std::optional<std::array<unsigned, 6>> {
  std::array<unsigned, 6> numbers{};
  std::size_t count = 0;
  if (text.size() != form.size()) return std::nullopt;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool digit = text[i] >= '0' && text[i] <= '9';
    if (digit != (form[i] == '0') || (!digit && text[i] != form[i])) return std::nullopt;
    if (!digit) continue;
    if (i == 0 || form[i - 1] != '0') ++count;
    numbers[count - 1] = numbers[count - 1] * 10 + static_cast<unsigned>(text[i] - '0');
  }
  return numbers;
}

}  // namespace detail

/// Reads the time of a Date header: "Fri, 24 May 2013 00:00:00 GMT" (RFC 9110, IMF-fixdate).
[[nodiscard]] inline auto parse_http_date(std::string_view text) -> std::optional<UnixTime> {
  constexpr std::string_view months = "JanFebMarAprMayJunJulAugSepOctNovDec";
  constexpr std::size_t bytes = std::string_view{"Fri, 24 May 2013 00:00:00 GMT"}.size();
  if (text.size() != bytes || text.substr(3, 2) != ", ") return std::nullopt;
  const std::size_t month = months.find(text.substr(8, 3));
  const auto n =
      detail::read_numbers(std::string{text.substr(5, 2)} + std::string{text.substr(11)}, "00 0000 00:00:00 GMT");
  if (!n || month == std::string_view::npos || month % 3 != 0 || text[7] != ' ') return std::nullopt;
  return detail::unix_time(static_cast<int>((*n)[1]), static_cast<unsigned>(month / 3 + 1), (*n)[0], (*n)[2], (*n)[3],
                           (*n)[4]);
}

}  // namespace v0
}  // namespace distrib
