// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/shortest_text.hpp>

#include <cmath>
#include <concepts>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// A JSON string with its quotes. Bytes that are no UTF-8 become U+FFFD, so that the result always is JSON.
[[nodiscard]] DISTRIB_DECL auto json_text(std::string_view text) -> std::string;

/// "true", "false", or an integer in decimal.
template <std::integral T> [[nodiscard]] auto json_text(T value) -> std::string {
  if constexpr (std::same_as<T, bool>) return value ? "true" : "false";
  else return std::to_string(value);
}

/// The shortest number that reads back as the same value of its type. What JSON has no number for is one of the texts
/// that protobuf's JSON has for it: "NaN", "Infinity", "-Infinity", with their quotes.
template <std::floating_point T> [[nodiscard]] auto json_text(T value) -> std::string {
  if (std::isnan(value)) return "\"NaN\"";
  if (std::isinf(value)) return value > 0 ? "\"Infinity\"" : "\"-Infinity\"";
  return detail::shortest_text(value);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/json_text.ipp>
#endif
