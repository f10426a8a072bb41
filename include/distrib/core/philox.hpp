// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Key and counter of `philox`, least significant word first.
using PhiloxKey = std::array<std::uint32_t, 2>;
using PhiloxBlock = std::array<std::uint32_t, 4>;

}  // namespace detail

/// Philox 4x32-10: returns four random words that are a pure function of key and counter. For a fixed key it is a
/// bijection of the counter. Source: Salmon, Moraes, Dror, Shaw, "Parallel random numbers: as easy as 1, 2, 3", 2011.
[[nodiscard]] constexpr auto philox(detail::PhiloxKey key, detail::PhiloxBlock counter) noexcept
    -> detail::PhiloxBlock {
  for (int round = 0; round < 10; ++round) {
    const std::uint64_t first = std::uint64_t{0xD2511F53} * counter[0];
    const std::uint64_t second = std::uint64_t{0xCD9E8D57} * counter[2];
    counter = {static_cast<std::uint32_t>(second >> 32) ^ counter[1] ^ key[0], static_cast<std::uint32_t>(second),
               static_cast<std::uint32_t>(first >> 32) ^ counter[3] ^ key[1], static_cast<std::uint32_t>(first)};
    key = {key[0] + 0x9E3779B9, key[1] + 0xBB67AE85};
  }
  return counter;
}

/// Returns the key for a job's seed.
[[nodiscard]] constexpr auto philox_key(std::uint64_t seed) noexcept -> detail::PhiloxKey {
  return {static_cast<std::uint32_t>(seed), static_cast<std::uint32_t>(seed >> 32)};
}

/// Returns a number in [0, 1) made of the upper 24 bits of a random word: every value is exact, the step is 2^-24.
[[nodiscard]] constexpr auto uniform01(std::uint32_t word) noexcept -> float {
  return static_cast<float>(word >> 8) * 0x1p-24F;
}

namespace detail {

/// The finalizer of SplitMix64: mixes 64 bits one to one. Source: Steele, Lea, Flood, "Fast splittable pseudorandom
/// number generators", 2014.
[[nodiscard]] constexpr auto mix_bits(std::uint64_t bits) noexcept -> std::uint64_t {
  bits = (bits ^ bits >> 30) * 0xBF58'476D'1CE4'E5B9;
  bits = (bits ^ bits >> 27) * 0x94D0'49BB'1331'11EB;
  return bits ^ bits >> 31;
}

}  // namespace detail

/// A sequence of random words for (seed, a, b), for example (seed, step, rank). Different triples give different,
/// independent sequences; the same triple gives the same sequence on every machine. A value: a copy continues at the
/// same position. Models std::uniform_random_bit_generator. Trap: the distributions of the standard library differ
/// between its versions; use `uniform01` for results that must be reproducible. A sequence has 2^34 words and then
/// repeats.
class Philox {
 public:
  using result_type = std::uint32_t;

  constexpr Philox() noexcept : Philox{0, 0, 0} {}
  /// Starts at the first word of the sequence of (seed, a, b).
  constexpr Philox(std::uint64_t seed, std::uint64_t a, std::uint32_t b) noexcept
      : key_{philox_key(seed)}, counter_{0, b, static_cast<std::uint32_t>(a), static_cast<std::uint32_t>(a >> 32)} {}

  /// Return the smallest and the largest word, 0 and 2^32 - 1.
  [[nodiscard]] static constexpr auto min() noexcept -> result_type { return 0; }
  [[nodiscard]] static constexpr auto max() noexcept -> result_type { return std::numeric_limits<result_type>::max(); }

  /// Returns the next word.
  constexpr auto operator()() noexcept -> result_type {
    if (next_ == block_.size()) {
      block_ = philox(key_, counter_);
      ++counter_[0];
      next_ = 0;
    }
    return block_[next_++];
  }

  /// True if both return the same words from now on.
  [[nodiscard]] constexpr auto operator==(const Philox&) const noexcept -> bool = default;

 private:
  detail::PhiloxKey key_;
  detail::PhiloxBlock counter_;
  detail::PhiloxBlock block_{};
  std::size_t next_ = 4;
};

}  // namespace v0
}  // namespace distrib
