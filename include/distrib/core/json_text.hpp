// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/shortest_text.hpp>
#include <distrib/core/utf8.hpp>

#include <cmath>
#include <concepts>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// A JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD, so that the result always is JSON.
[[nodiscard]] inline auto json_text(std::string_view text) -> std::string {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string json = "\"";
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t length = detail::utf8_length(text);
    if (length == 0) {
      json += "\xEF\xBF\xBD";
    } else if (lead == '"' || lead == '\\') {
      json.append("\\").append(text, 0, 1);
    } else if (lead == '\n') {
      json += "\\n";
    } else if (lead < 0x20) {
      json.append("\\u00").append(1, hex[lead >> 4]).append(1, hex[lead & 15]);
    } else {
      json.append(text, 0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return json += '"';
}

/// "true", "false", or an integer in decimal.
template <std::integral T> [[nodiscard]] auto json_text(T value) -> std::string {
  if constexpr (std::same_as<T, bool>) return value ? "true" : "false";
  else return std::to_string(value);
}

/// The shortest number that reads back as the same value of its type; "null" for what JSON has no number for
/// (infinities, not-a-number).
template <std::floating_point T> [[nodiscard]] auto json_text(T value) -> std::string {
  if (!std::isfinite(value)) return "null";
  return detail::shortest_text(value);
}

}  // namespace v0
}  // namespace distrib
