// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/utf8.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace tools {

/// Returns a name from a file as UTF-8. Each byte that is not UTF-8 becomes a text like "\xfc", so that different names
/// stay different. `controls`: control characters are escaped, too, for a line that a user reads.
[[nodiscard]] inline auto escaped_text(std::string_view bytes, bool controls = false) -> std::string {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string text;
  while (!bytes.empty()) {
    const auto lead = static_cast<unsigned char>(bytes.front());
    const std::size_t length = distrib::detail::utf8_length(bytes);
    if (length == 0 || (controls && (lead < 0x20 || lead == 0x7F)))
      text.append("\\x").append(1, hex[lead >> 4]).append(1, hex[lead & 15]);
    else text.append(bytes, 0, length);
    bytes.remove_prefix(length == 0 ? 1 : length);
  }
  return text;
}

/// Returns the same, with control characters escaped: for a line that a user reads.
[[nodiscard]] inline auto line_text(std::string_view bytes) -> std::string { return escaped_text(bytes, true); }

}  // namespace tools
