// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/json_text.hpp>

#include <cmath>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <string>
#include <string_view>

namespace tools {

/// Returns bytes as base64 (RFC 4648) with padding, like bytes in the JSON of protobuf.
[[nodiscard]] inline auto base64(distrib::ByteView bytes) -> std::string {
  constexpr std::string_view digits = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  text.reserve((bytes.size() + 2) / 3 * 4);
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = bytes.size() - i < 3 ? bytes.size() - i : 3;
    std::uint32_t word = 0;
    for (std::size_t j = 0; j < 3; ++j) word = word << 8 | (j < count ? static_cast<std::uint32_t>(bytes[i + j]) : 0);
    for (std::size_t j = 0; j < 4; ++j) text += j <= count ? digits[word >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

/// Returns a number as text: as in JSON, but NaN, Infinity and -Infinity without quotes.
template <class T> [[nodiscard]] auto number_text(T value) -> std::string {
  const std::string json = distrib::json_text(value);
  return json.front() == '"' ? json.substr(1, json.size() - 2) : json;
}

/// Returns the same for a number that may have been a float in a file: with the digits of a float, if it is a float.
[[nodiscard]] inline auto short_text(double value) -> std::string {
  if (!(std::abs(value) <= static_cast<double>(std::numeric_limits<float>::max()))) return number_text(value);
  const auto narrow = static_cast<float>(value);
  return static_cast<double>(narrow) == value ? number_text(narrow) : number_text(value);
}

}  // namespace tools
