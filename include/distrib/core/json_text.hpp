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

/// Returns `text` as a JSON string with its quotes. Each byte that is not part of valid UTF-8 becomes U+FFFD, so the
/// result is always valid JSON.
[[nodiscard]] DISTRIB_DECL auto json_text(std::string_view text) -> std::string;

/// Returns "true" or "false" for a bool, otherwise the integer in decimal.
template <std::integral T> [[nodiscard]] auto json_text(T value) -> std::string {
  if constexpr (std::same_as<T, bool>) return value ? "true" : "false";
  else return std::to_string(value);
}

/// Returns the shortest number that reads back as the same value of its type. JSON has no number for NaN and infinity:
/// returns "NaN", "Infinity" or "-Infinity" with quotes, as protobuf's JSON does.
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
