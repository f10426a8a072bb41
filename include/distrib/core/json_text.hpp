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

/// Builds one JSON object, member by member: `JsonObject{}.add("file", name).add("records", n).text()`. The names must
/// differ.
class JsonObject {
 public:
  /// Adds a member whose value is a text, a number or a bool, as `json_text` writes it.
  template <class T> auto add(std::string_view name, const T& value) -> JsonObject& {
    return add_json(name, json_text(value));
  }

  /// Adds a member whose value is JSON already.
  auto add_json(std::string_view name, std::string_view json) -> JsonObject& {
    text_ += text_.size() > 1 ? "," : "";
    text_ += json_text(name) + ":";
    text_ += json;
    return *this;
  }

  [[nodiscard]] auto text() const -> std::string { return text_ + "}"; }

 private:
  std::string text_ = "{";
};

/// Returns the JSON array of what `to_json` makes of each element.
template <class Range, class ToJson> [[nodiscard]] auto json_array(const Range& elements, const ToJson& to_json)
    -> std::string {
  std::string text = "[";
  for (const auto& element : elements) {
    text += text.size() > 1 ? "," : "";
    text += to_json(element);
  }
  return text + "]";
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/json_text.ipp>
#endif
