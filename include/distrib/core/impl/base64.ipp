// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/base64.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto base64(ByteView bytes) -> std::string {
  constexpr std::string_view letters = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string text;
  for (std::size_t i = 0; i < bytes.size(); i += 3) {
    const std::size_t count = bytes.size() - i < 3 ? bytes.size() - i : 3;
    std::uint32_t group = 0;
    for (std::size_t j = 0; j < 3; ++j)
      group = group << 8 | (j < count ? static_cast<std::uint32_t>(bytes[i + j]) : 0U);
    for (std::size_t j = 0; j < 4; ++j) text += j <= count ? letters[group >> (18 - 6 * j) & 63] : '=';
  }
  return text;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
