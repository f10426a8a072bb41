// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <algorithm>
#include <cstddef>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// A text as a template argument: `Variable<"hidden/weights", float, 2>`. N includes the terminating zero.
template <std::size_t N> struct FixedString {
  char text[N]{};

  consteval FixedString(const char (&literal)[N]) { std::copy_n(literal, N, text); }  // NOLINT: implicit on purpose

  [[nodiscard]] constexpr auto view() const noexcept -> std::string_view { return {text, N - 1}; }

  template <std::size_t M> [[nodiscard]] constexpr auto operator==(const FixedString<M>& other) const noexcept -> bool {
    return view() == other.view();
  }
};

}  // namespace v0
}  // namespace distrib
