// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why a text is not JSON.
enum class json_errc {
  unexpected_end = 1,  ///< The text is empty, or ends inside a value. Check whether it was cut off.
  /// JSON does not allow this character here. Look for missing commas, trailing commas and comments, and for numbers
  /// that begin with a plus sign or a point.
  unexpected_character,
  /// Not a number as JSON writes it. Write no leading zeros, and at least one digit after a minus sign, after the point
  /// and in the exponent.
  bad_number,
  /// A backslash does not start an escape of JSON, or half of a surrogate pair stands alone. Correct the escape.
  bad_escape,
  control_character,  ///< A string contains an unescaped control character. Write it as an escape.
  bad_utf8,  ///< A string contains bytes that are not UTF-8. Save the text as UTF-8.
  too_deep,  ///< Arrays and objects are nested more than 64 deep. Flatten the text.
  trailing_text,  ///< There is more text after the value. Keep one value per text.
};

namespace detail {
inline constexpr ErrorText json_texts[] = {
    {json_errc::unexpected_end, failure::invalid_argument,
     "the JSON text is empty or ends inside a value: check whether it was cut off"},
    {json_errc::unexpected_character, failure::invalid_argument,
     "the JSON text has an unexpected character: look for a missing comma, an extra comma or a comment"},
    {json_errc::bad_number, failure::invalid_argument, "not a JSON number: write it like -12.5 or 1e3"},
    {json_errc::bad_escape, failure::invalid_argument,
     "not an escape sequence of JSON strings: correct what follows the backslash"},
    {json_errc::control_character, failure::invalid_argument,
     "a control character in a JSON string must be escaped: write it like \\n or \\u0001"},
    {json_errc::bad_utf8, failure::invalid_argument, "the JSON string is not UTF-8: save the text as UTF-8"},
    {json_errc::too_deep, failure::exhausted, "the JSON text is nested deeper than 64: use fewer levels"},
    {json_errc::trailing_text, failure::invalid_argument, "there is more text after the JSON value: remove it"},
};

/// Returns the category "distrib.json".
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
