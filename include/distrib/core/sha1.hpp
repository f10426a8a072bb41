// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>

namespace distrib::inline v0 {

/// SHA-1 of bytes that come in pieces (FIPS 180-4). Two texts of one digest can be made, so use it only where others
/// do, and keyed, as Hadoop's job tokens: HMAC-SHA-1 is not broken by that. A value: a copy goes on from the same
/// place. Never allocates, never fails. Threads: one at a time. `to_hex` of core/sha256.hpp shows a digest.
class Sha1 {
 public:
  using Digest = std::array<std::byte, 20>;
  static constexpr std::size_t block_bytes = 64;  ///< What HMAC pads a key to.

  /// Adds `bytes`; how the whole is cut into pieces does not matter.
  void update(ByteView bytes) noexcept {
    length_ += bytes.size();
    while (!bytes.empty()) {
      const std::size_t piece = std::min(bytes.size(), block_bytes - filled_);
      std::memcpy(block_.data() + filled_, bytes.data(), piece);
      bytes = bytes.subspan(piece);
      filled_ += piece;
      if (filled_ == block_bytes) compress();
    }
  }

  /// The digest of all that was added; afterwards the object is as new.
  [[nodiscard]] auto finish() noexcept -> Digest {
    const std::uint64_t bits = length_ * 8;
    const std::array<std::byte, 1> mark{std::byte{0x80}};
    update(mark);
    if (filled_ > block_bytes - sizeof bits) {
      std::fill(block_.begin() + static_cast<std::ptrdiff_t>(filled_), block_.end(), std::byte{0});
      compress();
    }
    std::fill(block_.begin() + static_cast<std::ptrdiff_t>(filled_), block_.end(), std::byte{0});
    store_le(block_.data() + block_bytes - sizeof bits, __builtin_bswap64(bits));
    compress();
    Digest digest;
    for (std::size_t i = 0; i < state_.size(); ++i) store_le(digest.data() + 4 * i, __builtin_bswap32(state_[i]));
    *this = Sha1{};
    return digest;
  }

 private:
  void compress() noexcept {
    std::array<std::uint32_t, 80> schedule;
    for (std::size_t i = 0; i < 16; ++i) schedule[i] = __builtin_bswap32(load_le<std::uint32_t>(block_.data() + 4 * i));
    for (std::size_t i = 16; i < 80; ++i)
      schedule[i] = std::rotl(schedule[i - 3] ^ schedule[i - 8] ^ schedule[i - 14] ^ schedule[i - 16], 1);
    auto [a, b, c, d, e] = state_;  // the standard's letters
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
    const std::array<std::uint32_t, 5> added{a, b, c, d, e};
    for (std::size_t i = 0; i < added.size(); ++i) state_[i] += added[i];
    filled_ = 0;
  }

  std::array<std::uint32_t, 5> state_{0x67452301, 0xEFCDAB89, 0x98BADCFE, 0x10325476, 0xC3D2E1F0};
  std::array<std::byte, block_bytes> block_{};
  std::size_t filled_ = 0;
  std::uint64_t length_ = 0;
};

}  // namespace distrib::inline v0
