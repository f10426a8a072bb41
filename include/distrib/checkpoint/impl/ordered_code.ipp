// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/ordered_code.hpp>

#include <cstddef>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void append_ordered_uint64(std::string& to, std::uint64_t value) {
  std::size_t digits = 0;
  while (digits < 8 && value >> (8 * digits) != 0) ++digits;
  to += static_cast<char>(digits);
  while (digits-- > 0) to += static_cast<char>(value >> (8 * digits) & 0xff);
}

DISTRIB_DECL void append_ordered_text(std::string& to, std::string_view text) {
  for (const char c : text) {
    to += c;
    if (c == '\0') to += '\xff';
    if (c == '\xff') to += '\0';
  }
  to += '\0';
  to += '\1';
}

DISTRIB_DECL void append_ordered_int64(std::string& to, std::int64_t value) {
  const auto magnitude = static_cast<std::uint64_t>(value < 0 ? ~value : value);
  std::size_t length = 1;  // n bytes hold magnitudes below 2^(7n - 1)
  while (length < 10 && magnitude >> (7 * length - 1) != 0) ++length;
  std::size_t ones = length;
  for (std::size_t i = length; i-- > 0;) {
    std::uint8_t byte = value < 0 ? 0xff : 0;
    if (i < 8) byte = static_cast<std::uint8_t>(value >> (8 * i));
    for (unsigned bit = 0x80; bit != 0 && ones > 0; bit >>= 1, --ones) byte = static_cast<std::uint8_t>(byte ^ bit);
    to += static_cast<char>(byte);
  }
}

DISTRIB_DECL auto slice_key(std::string_view name, std::span<const std::int64_t> starts,
                            std::span<const std::int64_t> lengths) -> std::string {
  std::string key;
  append_ordered_uint64(key, 0);
  append_ordered_text(key, name);
  append_ordered_uint64(key, starts.size());
  for (std::size_t axis = 0; axis < starts.size(); ++axis) {
    append_ordered_int64(key, starts[axis]);
    append_ordered_int64(key, lengths[axis]);
  }
  return key;
}

}  // namespace v0
}  // namespace distrib
