// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/utf8.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace tools {

/// A name out of a file as UTF-8: each byte that is none becomes "\xfc", so that names that differ stay different.
/// `controls`: so do control characters, for a line that people read.
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

/// The same for a line that people read.
[[nodiscard]] inline auto line_text(std::string_view bytes) -> std::string { return escaped_text(bytes, true); }

}  // namespace tools
