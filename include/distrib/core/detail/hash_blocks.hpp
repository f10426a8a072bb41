// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <type_traits>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Converts a word of a hash between the machine's byte order and big-endian.
template <class Word> auto big_endian(Word word) noexcept -> Word {
  if constexpr (sizeof word == 4) return __builtin_bswap32(word);
  if constexpr (sizeof word == 8) return __builtin_bswap64(word);
}

/// Computes a hash of bytes that arrive in pieces; `compress(state, block)` processes one whole block. The last block
/// is padded with a 1 bit, zeros and the number of bits, for which an eighth of a block is reserved (RFC 1321, sections
/// 3.1 and 3.2; FIPS 180-4, section 5.1). `Order`: byte order of that number, and of each word of the state in the
/// digest.
template <class Digest, std::size_t BlockBytes, std::endian Order, const auto& start, auto compress>
class HashBlocks {
 public:
  void update(ByteView bytes) noexcept {
    while (!bytes.empty()) {
      const std::size_t filled = length_ % BlockBytes;
      const std::size_t piece = std::min(bytes.size(), BlockBytes - filled);
      if (piece < BlockBytes) std::memcpy(block_.data() + filled, bytes.data(), piece);
      if (filled + piece == BlockBytes) compress(state_, piece == BlockBytes ? bytes.data() : block_.data());
      bytes = bytes.subspan(piece);
      length_ += piece;
    }
  }

  /// Returns the digest: the first bytes of the state. Afterwards the object is as newly made.
  auto finish() noexcept -> Digest {
    static constexpr std::array<std::byte, 2 * BlockBytes> padding{std::byte{0x80}};
    // If the number has 128 bits, the upper 64 stay 0: no message is that long.
    const std::uint64_t bits = Order == std::endian::big ? big_endian(length_ * 8) : length_ * 8;
    const std::size_t filled = length_ % BlockBytes;
    const std::size_t end = filled < BlockBytes - BlockBytes / 8 ? BlockBytes : 2 * BlockBytes;
    update(ByteView{padding}.first(end - sizeof bits - filled));
    update(bytes_of(bits));
    for (auto& word : state_) word = Order == std::endian::big ? big_endian(word) : word;
    Digest digest;
    std::memcpy(digest.data(), state_.data(), digest.size());
    *this = {};
    return digest;
  }

 private:
  std::remove_cvref_t<decltype(start)> state_ = start;
  std::array<std::byte, BlockBytes> block_{};
  std::uint64_t length_ = 0;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
