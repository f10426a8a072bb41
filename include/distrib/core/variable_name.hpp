// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string_view>

namespace distrib {
inline namespace v0 {

/// True if a variable may have this name: it is not empty and has no spaces, line ends or other control characters,
/// because a job's description consists of words and lines.
[[nodiscard]] constexpr auto valid_variable_name(std::string_view name) noexcept -> bool {
  for (const char letter : name)
    if (static_cast<unsigned char>(letter) <= ' ' || letter == '\x7f') return false;
  return !name.empty();
}

}  // namespace v0
}  // namespace distrib
