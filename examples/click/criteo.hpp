// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "click_example.hpp"

#include <algorithm>
#include <charconv>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <stdexcept>
#include <string>
#include <string_view>
#include <system_error>

// A line of Criteo's data sets (Display Advertising Challenge, Terabyte Click Logs): the label, 13 whole numbers and 26
// tokens of up to 8 hexadecimal digits, separated by tabs. A missing field is empty.

/// Reads a line, which must not have a line end. Negative numbers, which are few, count as 0. Throws
/// `std::invalid_argument`, which names the field that is wrong.
[[nodiscard]] inline auto parse_criteo(std::string_view line) -> ClickExample {
  constexpr std::size_t fields = 1 + ClickExample::numbers_count + ClickExample::categories_count;
  const auto tabs = static_cast<std::size_t>(std::ranges::count(line, '\t'));
  if (tabs + 1 != fields)
    throw std::invalid_argument(std::to_string(tabs + 1) + " fields between tabs, not " + std::to_string(fields));

  std::size_t number = 0;
  const auto next = [&]() -> std::string_view {
    ++number;
    const std::string_view field = line.substr(0, line.find('\t'));
    line.remove_prefix(std::min(field.size() + 1, line.size()));
    return field;
  };
  const auto wrong = [&](std::string_view field, const char* what) {
    const std::string beginning{field.substr(0, 40)};
    return std::invalid_argument("field " + std::to_string(number) + ": '" + beginning + "' is " + what);
  };
  const auto value = [](std::string_view field, int base) -> std::optional<std::int64_t> {
    std::int64_t found = 0;
    const auto [end, error] = std::from_chars(field.data(), field.data() + field.size(), found, base);
    if (error != std::errc{} || end != field.data() + field.size()) return std::nullopt;
    return found;
  };

  ClickExample example;
  const std::string_view label = next();
  if (label != "0" && label != "1") throw wrong(label, "neither 0 nor 1");
  example.label = label == "1" ? 1 : 0;
  for (float& x : example.numbers) {
    const std::string_view field = next();
    const auto found = field.empty() ? -1 : value(field, 10);
    if (!found) throw wrong(field, "not a whole number of 64 bits");
    x = field.empty() ? -1.0F : static_cast<float>(std::max<std::int64_t>(*found, 0));
  }
  for (std::int64_t& token : example.categories) {
    const std::string_view field = next();
    const auto found = field.empty() ? -1 : value(field, 16);
    if (!found || field.size() > 8 || field.starts_with('-')) throw wrong(field, "not a token of 8 hexadecimal digits");
    token = *found;
  }
  return example;
}

/// Returns an example as a line, with its line end. Its numbers must be whole and below 2^24.
[[nodiscard]] inline auto criteo_line(const ClickExample& example) -> std::string {
  std::string line = std::to_string(example.label);
  for (const float x : example.numbers) {
    line += '\t';
    if (x >= 0) line += std::to_string(static_cast<std::int64_t>(x));
  }
  for (const std::int64_t token : example.categories) {
    char text[16];
    std::snprintf(text, sizeof text, "\t%08llx", static_cast<unsigned long long>(token));
    line += token < 0 ? "\t" : text;
  }
  return line + "\n";
}
