// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/sha1.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void Sha1::compress(State& state, const std::byte* block) noexcept {
  std::array<std::uint32_t, 80> schedule;
  for (std::size_t i = 0; i < 16; ++i) schedule[i] = detail::big_endian(load_le<std::uint32_t>(block + 4 * i));
  for (std::size_t i = 16; i < 80; ++i)
    schedule[i] = std::rotl(schedule[i - 3] ^ schedule[i - 8] ^ schedule[i - 14] ^ schedule[i - 16], 1);
  auto [a, b, c, d, e] = state;  // the standard's letters
  for (std::size_t i = 0; i < 80; ++i) {
    const std::uint32_t mixed = i < 20   ? ((b & c) | (~b & d)) + 0x5A827999U
                                : i < 40 ? (b ^ c ^ d) + 0x6ED9EBA1U
                                : i < 60 ? ((b & c) | (b & d) | (c & d)) + 0x8F1BBCDCU
                                         : (b ^ c ^ d) + 0xCA62C1D6U;
    const std::uint32_t next = std::rotl(a, 5) + mixed + e + schedule[i];
    e = d;
    d = c;
    c = std::rotl(b, 30);
    b = a;
    a = next;
  }
  const State added{a, b, c, d, e};
  for (std::size_t i = 0; i < added.size(); ++i) state[i] += added[i];
}

}  // namespace v0
}  // namespace distrib
