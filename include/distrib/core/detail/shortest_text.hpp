// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <charconv>
#include <string>

namespace distrib::inline v0::detail {

/// The shortest decimal text that reads back as the same float: "0.05", "1e-08", "nan".
[[nodiscard]] inline auto shortest_text(float value) -> std::string {
  std::array<char, 32> text{};
  return {text.data(), std::to_chars(text.data(), text.data() + text.size(), value).ptr};
}

}  // namespace distrib::inline v0::detail
