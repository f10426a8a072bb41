// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>

#include <cstddef>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns the number of bytes of the first character of `text`; 0 if `text` does not begin with a character (RFC 3629:
/// only the shortest form, no surrogates, nothing above U+10FFFF, nothing cut off).
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
  if (lead == 0xE0 && byte(1) < 0xA0) return 0;  // not the shortest form
  if (lead == 0xED && byte(1) > 0x9F) return 0;  // a surrogate
  if (lead == 0xF0 && byte(1) < 0x90) return 0;  // not the shortest form
  if (lead == 0xF4 && byte(1) > 0x8F) return 0;  // above U+10FFFF
  return length;
}

/// True if all of `text` is UTF-8.
[[nodiscard]] constexpr auto is_utf8(std::string_view text) noexcept -> bool {
  while (!text.empty()) {
    const std::size_t length = utf8_length(text);
    if (length == 0) return false;
    text.remove_prefix(length);
  }
  return true;
}

/// Appends the character with this number, which must be valid (no surrogate, at most 0x10FFFF).
DISTRIB_DECL void append_utf8(std::string& text, unsigned character);

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/utf8.ipp>
#endif
