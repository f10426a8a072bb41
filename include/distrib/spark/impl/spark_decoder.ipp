// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/spark/spark_decoder.hpp>

#include <distrib/core/utf8.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

// Returns how many bytes at the front of `bytes` Java replaces by one U+FFFD. They do not begin a character; the result
// is as many of them as could begin one, and all three of a surrogate.
constexpr auto malformed_length(std::string_view bytes) noexcept -> std::size_t {
  const auto lead = static_cast<unsigned char>(bytes.front());
  if (lead < 0xC2 || lead > 0xF4) return 1;
  const std::size_t whole = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  std::size_t length = 1;
  for (; length < whole && length < bytes.size(); ++length) {
    const auto byte = static_cast<unsigned char>(bytes[length]);
    const bool second = length == 1;
    const unsigned least = second && lead == 0xE0 ? 0xA0U : second && lead == 0xF0 ? 0x90U : 0x80U;
    const unsigned most = second && lead == 0xF4 ? 0x8FU : 0xBFU;
    if (byte < least || byte > most) break;
  }
  return length;
}

DISTRIB_DECL auto java_text(std::string_view bytes) -> std::string {
  std::string text;
  while (!bytes.empty()) {
    const std::size_t length = utf8_length(bytes);
    if (length == 0) text += "\xEF\xBF\xBD";
    else text.append(bytes, 0, length);
    bytes.remove_prefix(length == 0 ? malformed_length(bytes) : length);
  }
  return text;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
