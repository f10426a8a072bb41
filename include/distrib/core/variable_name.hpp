// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace distrib {
inline namespace v0 {

/// Whether a variable may have this name: not empty, and no spaces, line ends or other control characters in it, since
/// a job's description is made of words and lines.
[[nodiscard]] constexpr auto valid_variable_name(std::string_view name) noexcept -> bool {
  for (const char letter : name)
    if (static_cast<unsigned char>(letter) <= ' ' || letter == '\x7f') return false;
  return !name.empty();
}

}  // namespace v0
}  // namespace distrib
