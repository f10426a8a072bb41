// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Bytes of the character that `text` begins with; 0 when it begins with none (RFC 3629: the shortest form only, no
/// surrogates, nothing above U+10FFFF, nothing cut short).
[[nodiscard]] constexpr auto utf8_length(std::string_view text) noexcept -> std::size_t {
  if (text.empty()) return 0;
  const auto byte = [text](std::size_t at) { return static_cast<unsigned char>(text[at]); };
  const unsigned char lead = byte(0);
  if (lead < 0x80) return 1;
  if (lead < 0xC2 || lead > 0xF4) return 0;
  const std::size_t length = lead < 0xE0 ? 2 : lead < 0xF0 ? 3 : 4;
  if (text.size() < length) return 0;
  for (std::size_t at = 1; at < length; ++at)
    if ((byte(at) & 0xC0) != 0x80) return 0;
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;   // longer than it need be
  if (lead == 0xED && byte(1) > 0x9F) return 0;   // a surrogate
  if (lead == 0xF0 && byte(1) < 0x90) return 0;   // longer than it need be
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;   // above U+10FFFF
  return length;
}

/// Whether `text` is characters from its beginning to its end.
[[nodiscard]] constexpr auto is_utf8(std::string_view text) noexcept -> bool {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

/// Appends a character by its number; it must be one (no surrogate, at most 0x10FFFF).
DISTRIB_DECL void append_utf8(std::string& text, unsigned character);

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/utf8.ipp>
#endif
