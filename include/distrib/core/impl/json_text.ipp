// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/json_text.hpp>

#include <distrib/core/utf8.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto json_text(std::string_view text) -> std::string {
  constexpr std::string_view hex = "0123456789abcdef";
  std::string json = "\"";
  while (!text.empty()) {
    const auto lead = static_cast<unsigned char>(text.front());
    const std::size_t length = detail::utf8_length(text);
    if (length == 0) {
      json += "\xEF\xBF\xBD";
    } else if (lead == '"' || lead == '\\') {
      json.append("\\").append(text, 0, 1);
    } else if (lead == '\n') {
      json += "\\n";
    } else if (lead < 0x20) {
      json.append("\\u00").append(1, hex[lead >> 4]).append(1, hex[lead & 15]);
    } else {
      json.append(text, 0, length);
    }
    text.remove_prefix(length == 0 ? 1 : length);
  }
  return json += '"';
}

}  // namespace v0
}  // namespace distrib
