// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <array>
#include <charconv>
#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <type_traits>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns the shortest decimal text that reads back as the same number: "0.05", "1e-08", "nan", "12000".
template <class T>
  requires std::is_arithmetic_v<T>
[[nodiscard]] auto shortest_text(T value) -> std::string {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

/// Returns the number for which `shortest_text<T>` returns `text`. Empty for every other text, such as "0.050", "+1",
/// "1e999" and "007".
template <class T>
  requires std::is_arithmetic_v<T>
[[nodiscard]] auto parse_shortest(std::string_view text) -> std::optional<T> {
  T value{};
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) return std::nullopt;
  return shortest_text(value) == text ? std::optional{value} : std::nullopt;
}

/// Returns the number that the whole `text` is, in decimal or in base `base`. Empty if it is no number or does not fit.
template <class T, class... Base>
[[nodiscard]] auto parse_whole(std::string_view text, Base... base) noexcept -> std::optional<T> {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value, base...);
  return code == std::errc{} && stop == end ? std::optional{value} : std::nullopt;
}

/// Removes the part before the first `separator` from `text`, and the separator too. Returns that part; all of `text`
/// if there is no separator.
DISTRIB_DECL auto cut_before(std::string_view& text, char separator) -> std::string_view;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/shortest_text.ipp>
#endif
