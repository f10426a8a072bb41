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

/// The shortest decimal text that reads back as the same number: "0.05", "1e-08", "nan", "12000".
template <class T>
  requires std::is_arithmetic_v<T>
[[nodiscard]] auto shortest_text(T value) -> std::string {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

/// The opposite: empty for every text that `shortest_text<T>` does not write, as "0.050", "+1", "1e999" and "007".
template <class T>
  requires std::is_arithmetic_v<T>
[[nodiscard]] auto parse_shortest(std::string_view text) -> std::optional<T> {
  T value{};
  if (std::from_chars(text.data(), text.data() + text.size(), value).ec != std::errc{}) return std::nullopt;
  return shortest_text(value) == text ? std::optional{value} : std::nullopt;
}

/// The number that all of `text` is, decimal or to the base that is given; empty when it is none, or does not fit.
template <class T, class... Base>
[[nodiscard]] auto parse_whole(std::string_view text, Base... base) noexcept -> std::optional<T> {
  T value{};
  const char* const end = text.data() + text.size();
  const auto [stop, code] = std::from_chars(text.data(), end, value, base...);
  return code == std::errc{} && stop == end ? std::optional{value} : std::nullopt;
}

/// Cuts off what `text` has before the first `separator`, and that too; all of it when there is none.
DISTRIB_DECL auto cut_before(std::string_view& text, char separator) -> std::string_view;

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/shortest_text.ipp>
#endif
