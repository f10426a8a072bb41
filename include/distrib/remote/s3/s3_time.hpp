// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/shortest_text.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// Seconds of Unix time: what signatures and the ends of credentials are about.
using UnixTime = std::chrono::sys_seconds;

namespace detail {

inline auto padded(unsigned value, std::size_t digits) -> std::string {
  std::string text = std::to_string(value);
  text.insert(0, text.size() < digits ? digits - text.size() : 0, '0');
  return text;
}

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

/// Returns the time as signatures contain it: "20130524T000000Z".
[[nodiscard]] inline auto signature_time(UnixTime time) -> std::string {
  const auto day = std::chrono::floor<std::chrono::days>(time);
  const std::chrono::year_month_day date{day};
  const std::chrono::hh_mm_ss clock{time - day};
  const auto two = [](auto value) { return detail::padded(static_cast<unsigned>(value), 2); };
  return detail::padded(static_cast<unsigned>(static_cast<int>(date.year())), 4) +
         two(static_cast<unsigned>(date.month())) + two(static_cast<unsigned>(date.day())) + 'T' +
         two(clock.hours().count()) + two(clock.minutes().count()) + two(clock.seconds().count()) + 'Z';
}

/// Reads a time of ISO 8601 in UTC: "2026-11-27T12:00:00Z", with or without a fraction of a second, or with "+00:00".
[[nodiscard]] inline auto parse_iso_time(std::string_view text) -> std::optional<UnixTime> {
  constexpr std::string_view form = "0000-00-00T00:00:00";
  const auto n = detail::read_numbers(text.substr(0, form.size()), form);
  if (!n) return std::nullopt;
  text.remove_prefix(form.size());
  if (text.starts_with('.')) text.remove_prefix(std::min(text.find_first_not_of("0123456789", 1), text.size()));
  if (text != "Z" && text != "+00:00") return std::nullopt;
  return detail::unix_time(static_cast<int>((*n)[0]), (*n)[1], (*n)[2], (*n)[3], (*n)[4], (*n)[5]);
}

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
