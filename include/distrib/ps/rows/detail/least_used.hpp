// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/rows/key_index.hpp>

#include <cstddef>
#include <cstdint>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The order in which rows are evicted: lowest frequency first, then earliest last use, then smallest key.
using EvictionOrder = std::pair<std::uint32_t, std::uint64_t>;

inline auto eviction_order(const KeySlot& slot) noexcept -> EvictionOrder {
  return {slot.use().frequency << 20 | slot.use().last_use, slot.key()};
}

/// Returns the position in that order of the `count`-th row (from 1); the index must have at least that many rows.
/// Finds it digit by digit, each by counting in one pass over the index: needs no memory but the counters, even if many
/// rows are equal.
inline auto nth_least_used(const KeyIndex& index, std::size_t count) -> EvictionOrder {
  struct Digit {
    unsigned of_use;  // number of bits of the use in this digit, from the top
    unsigned of_key;  // number of bits of the key
  };
  constexpr Digit digits[] = {{12, 0}, {10, 0}, {10, 0}, {0, 16}, {0, 16}, {0, 16}, {0, 16}};
  EvictionOrder found{0, 0};
  unsigned use_bits = 32;  // low bits of the use that are not known yet
  unsigned key_bits = 64;
  // Shifting by the width of a type is undefined, so that case is separate.
  const auto above = [](std::uint64_t value, unsigned bits) { return bits == 64 ? 0 : value >> bits; };
  for (const Digit digit : digits) {
    std::vector<std::size_t> counts(std::size_t{1} << (digit.of_use + digit.of_key));
    const std::uint64_t mask = counts.size() - 1;
    index.for_each([&](const KeySlot& slot) {
      const auto [use, key] = eviction_order(slot);
      const bool is_alike = above(use ^ found.first, use_bits) == 0 && above(key ^ found.second, key_bits) == 0;
      if (!slot.has_row() || !is_alike) return;
      ++counts[(digit.of_use != 0 ? use >> (use_bits - digit.of_use) : key >> (key_bits - digit.of_key)) & mask];
    });
    std::uint64_t value = 0;
    while (counts[value] < count) count -= counts[value++];
    use_bits -= digit.of_use;
    key_bits -= digit.of_key;
    if (digit.of_use != 0) found.first |= static_cast<std::uint32_t>(value << use_bits);
    if (digit.of_key != 0) found.second |= value << key_bits;
  }
  return found;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
