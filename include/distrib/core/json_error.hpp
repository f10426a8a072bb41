// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why a text is no JSON.
enum class json_errc {
  unexpected_end = 1,    ///< The text ends inside a value. Look whether it was cut short.
  unexpected_character,  ///< Something stands where JSON has no place for it. Look for commas and comments.
  bad_number,            ///< Not JSON's form of a number. Write no leading zeros, no plus, digits around the point.
  bad_escape,            ///< A backslash is followed by nothing JSON knows, or half a surrogate pair stands alone.
  control_character,     ///< A string holds a raw control character. Write it as an escape.
  bad_utf8,              ///< A string holds bytes that are no UTF-8. Save the text as UTF-8.
  too_deep,              ///< Arrays and objects lie more than 64 deep in each other. Flatten the text.
  trailing_text,         ///< Something follows the value. Keep one value a text.
};

namespace detail {
inline constexpr ErrorText json_texts[] = {
    {json_errc::unexpected_end, failure::invalid_argument, "the JSON text ends too early"},
    {json_errc::unexpected_character, failure::invalid_argument, "the JSON text has an unexpected character"},
    {json_errc::bad_number, failure::invalid_argument, "not a JSON number"},
    {json_errc::bad_escape, failure::invalid_argument, "not an escape of JSON strings"},
    {json_errc::control_character, failure::invalid_argument, "a control character in a JSON string must be escaped"},
    {json_errc::bad_utf8, failure::invalid_argument, "the JSON string is not UTF-8"},
    {json_errc::too_deep, failure::exhausted, "the JSON text is nested deeper than 64"},
    {json_errc::trailing_text, failure::invalid_argument, "something follows the JSON value"},
};

/// Category "distrib.json".
[[nodiscard]] inline auto json_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.json", json_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(json_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::json_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::json_errc> : std::true_type {};
