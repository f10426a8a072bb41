// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/adagrad.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <random>
#include <span>
#include <unordered_set>
#include <utility>
#include <vector>

// What the programs of this folder share: 1 Mi rows of 16 weights and Adagrad's 16 accumulators, and batches of row
// numbers and keys as workers send them.

using Keys = std::span<const std::uint64_t>;

constexpr std::size_t dim = 16;
constexpr std::size_t row_floats = 2 * dim;
constexpr std::uint64_t row_count = 1 << 20;

inline void fill(float* row) {
  std::fill_n(row, dim, 0.0F);
  std::fill_n(row + dim, dim, 0.1F);
}

/// Updates rows. All tables use this, so that they differ only in how they find rows.
inline void update(std::span<float* const> rows, const float* gradients) {
  distrib::Adagrad{.learning_rate = 0.05F}.apply_rows(
      {1}, {.dim = dim, .rows = rows, .gradients = {gradients, rows.size() * dim}});
}

/// Returns the key of the n-th row for tables whose keys may be any 64-bit number.
constexpr auto any_key(std::uint64_t n) -> std::uint64_t { return (n + 1) * 0x9E37'79B9'7F4A'7C15; }

/// Draws row numbers: uniformly, or Zipf-distributed: the n-th most frequent row has a probability proportional to
/// 1 / n^1.05, and frequent rows are scattered over the table.
class Draw {
 public:
  explicit Draw(bool is_zipf) : sums_(row_count) {
    double sum = 0;
    for (std::uint64_t n = 0; n < row_count; ++n) sums_[n] = sum += is_zipf ? std::pow(double(n + 1), -1.05) : 1;
  }

  /// Returns `count` batches one after another, each with `size` different row numbers n for which `accept(n)` is true.
  template <class Accept>
  [[nodiscard]] auto batches(std::size_t count, std::size_t size, std::uint64_t seed, Accept accept) const {
    std::mt19937_64 random{seed};
    std::uniform_real_distribution<double> uniform{0, sums_.back()};
    std::vector<std::uint64_t> drawn;
    for (std::size_t batch = 0; batch < count; ++batch) {
      std::unordered_set<std::uint64_t> different;
      while (different.size() < size) {
        const auto rank = std::lower_bound(sums_.begin(), sums_.end() - 1, uniform(random)) - sums_.begin();
        const std::uint64_t n = static_cast<std::uint64_t>(rank) * 0x9E37'79B1 % row_count;  // odd: a permutation
        if (accept(n)) different.insert(n);
      }
      drawn.insert(drawn.end(), different.begin(), different.end());
    }
    return drawn;
  }

 private:
  std::vector<double> sums_;
};

/// Returns `key_of(n)` for each n of `numbers`, sorted within each batch, as a worker sends them.
template <class KeyOf>
auto keys_of(std::span<const std::uint64_t> numbers, std::size_t batch_size, KeyOf key_of) {
  std::vector<std::uint64_t> keys;
  for (const std::uint64_t n : numbers) keys.push_back(key_of(n));
  for (std::size_t first = 0; first < keys.size(); first += batch_size)
    std::ranges::sort(std::span{keys}.subspan(first, batch_size));
  return keys;
}
