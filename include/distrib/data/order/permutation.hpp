// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/philox.hpp>

#include <array>
#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>

namespace distrib {
inline namespace v0 {

/// A shuffled order of 0 .. size - 1, as a function: `permutation(i)` is the number at position i. Each number comes
/// exactly once. The result depends on (size, seed, epoch) alone and is the same on every machine. Takes no memory, and
/// O(1) time for any size, so a process that knows the three numbers can compute any position, in any order.
///
/// How: a Feistel network of 8 rounds, which permutes the numbers that have at most as many bits as size - 1. The bits
/// are split into two halves, as equal as possible. Each round changes one half by a hash of the other half and of a
/// round key. The keys are words of `Philox{seed, epoch, 2^32 - 1}`. A result that is too large goes through the
/// network again until it fits ("cycle walking": Black and Rogaway, "Ciphers with arbitrary finite domains", 2002), on
/// average less than twice. It shuffles well but is not a cipher: it hides nothing.
///
/// A value; const access from any thread.
class Permutation {
 public:
  constexpr Permutation(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch) noexcept : size_{size} {
    const int bits = size < 2 ? 0 : 64 - std::countl_zero(size - 1);
    low_bits_ = bits / 2;
    low_mask_ = mask(low_bits_);
    high_mask_ = mask(bits - low_bits_);
    Philox random{seed, epoch, 0xFFFF'FFFF};  // no rank has this number, so nothing else draws from this sequence
    for (std::uint64_t& key : keys_) {
      const std::uint64_t high = random();
      key = high << 32 | random();
    }
  }

  [[nodiscard]] constexpr auto size() const noexcept -> std::uint64_t { return size_; }

  /// Returns the number at `position`, which must be below `size()`.
  [[nodiscard]] constexpr auto operator()(std::uint64_t position) const noexcept -> std::uint64_t {
    assert(position < size_);
    do position = permute(position);
    while (position >= size_);
    return position;
  }

 private:
  static constexpr auto mask(int bits) noexcept -> std::uint64_t { return (std::uint64_t{1} << bits) - 1; }

  constexpr auto permute(std::uint64_t x) const noexcept -> std::uint64_t {
    std::uint64_t low = x & low_mask_;
    std::uint64_t high = x >> low_bits_;
    for (std::size_t round = 0; round < keys_.size(); round += 2) {
      high ^= detail::mix_bits(low ^ keys_[round]) & high_mask_;
      low ^= detail::mix_bits(high ^ keys_[round + 1]) & low_mask_;
    }
    return high << low_bits_ | low;
  }

  std::uint64_t size_;
  int low_bits_ = 0;
  std::uint64_t low_mask_ = 0;
  std::uint64_t high_mask_ = 0;
  std::array<std::uint64_t, 8> keys_{};
};

}  // namespace v0
}  // namespace distrib
