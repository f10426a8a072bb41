// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/shortest_text.hpp>
#include <distrib/remote/http_date.hpp>

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <optional>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

namespace detail {

inline auto padded(unsigned value, std::size_t digits) -> std::string {
  std::string text = std::to_string(value);
  text.insert(0, text.size() < digits ? digits - text.size() : 0, '0');
  return text;
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

}  // namespace v0
}  // namespace distrib
