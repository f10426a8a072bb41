// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/detail/hash_blocks.hpp>

#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {

/// SHA-1 of bytes that come in pieces (FIPS 180-4). Two texts of one digest can be made, so use it only where others
/// do, and keyed, as Hadoop's job tokens: HMAC-SHA-1 is not broken by that. A value: a copy goes on from the same
/// place. Never allocates, never fails. Threads: one at a time. `to_hex` of core/sha256.hpp shows a digest.
class Sha1 {
 public:
  using Digest = std::array<std::byte, 20>;
  static constexpr std::size_t block_bytes = 64;  ///< What HMAC pads a key to.

  /// Adds `bytes`; how the whole is cut into pieces does not matter.
  void update(ByteView bytes) noexcept { blocks_.update(bytes); }

  /// The digest of all that was added; afterwards the object is as new.
  [[nodiscard]] auto finish() noexcept -> Digest { return blocks_.finish(); }

 private:
  using State = std::array<std::uint32_t, 5>;
  static constexpr State start{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};

  static void compress(State& state, const std::byte* block) noexcept {
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

  detail::HashBlocks<Digest, block_bytes, std::endian::big, start, compress> blocks_;
};

}  // namespace v0
}  // namespace distrib
