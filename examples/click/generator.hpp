// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "click_example.hpp"

#include <distrib/core/philox.hpp>

#include <algorithm>
#include <array>
#include <bit>
#include <cstddef>
#include <cstdint>
#include <vector>

/// Generates a data set of Criteo's shape, in which the probability of each label is known. Example `index` of a split
/// is a pure function of (seed, split, index). It is computed with integers only: the bytes are the same on every
/// machine.
///
/// 13 numbers: floor(scale * u / (1 - u)) for a uniform u, at most 1 000 000. Half of them are below the `scale` of
/// their column, and the share above x falls like scale / x. 26 categories: value k of the `values` of a column has a
/// probability proportional to 1 / (k + 1) (Zipf's law); its token is k with its bits mixed. In some columns values are
/// missing.
///
/// The log-odds of a click, in fixed point with 16 fraction bits, are the sum of
///   - a constant, chosen so that with seed 1 a quarter of all examples are clicks;
///   - for each number x that is not missing, `slope` times log2(1 + x), linear between powers of two;
///   - for each category that is not missing, a hidden weight of its value, uniform in [-spread, spread] of the column;
///   - for each of the `pairs` of columns in which no value is missing, half the product of two hidden vectors, one for
///     each value, with four elements uniform in [-1, 1]: weights of single values cannot express this.
class ClickGenerator {
 public:
  enum class Split : std::uint32_t { train = 0, test = 1 };

  struct Clicked {
    ClickExample example;
    std::int64_t log_odds = 0;  ///< Of a click, in 1 / 65536.
  };

  explicit ClickGenerator(std::uint64_t seed) : seed_{seed} {
    // Sums of the shares 2^48 / (k + 1).
    for (std::size_t c = 0; c < columns.size(); ++c) {
      std::uint64_t sum = 0;
      for (std::uint64_t k = 0; k < columns[c].values; ++k) up_to_[c].push_back(sum += (1ULL << 48) / (k + 1));
    }
  }

  [[nodiscard]] auto operator()(Split split, std::uint64_t index) const -> Clicked {
    distrib::Philox random{seed_, index, static_cast<std::uint32_t>(split)};
    Clicked made;
    std::int64_t log_odds = constant;
    for (std::size_t i = 0; i < numbers.size(); ++i) {
      const std::uint64_t u = random();
      const bool missing = random() % 100 < numbers[i].missing_percent;
      const std::uint64_t x = std::min<std::uint64_t>(numbers[i].scale * u / ((std::uint64_t{1} << 32) - u), 1'000'000);
      made.example.numbers[i] = missing ? -1.0F : static_cast<float>(x);
      if (!missing) log_odds += numbers[i].slope * log2_of(1 + x) >> 16;
    }
    std::array<std::int64_t, columns.size()> value{};
    for (std::size_t c = 0; c < columns.size(); ++c) {
      value[c] = draw(c, random);
      if (random() % 100 < columns[c].missing_percent) value[c] = -1;
      made.example.categories[c] = value[c] < 0 ? -1 : token(c, static_cast<std::uint32_t>(value[c]));
      if (value[c] >= 0) log_odds += columns[c].spread * hidden(weight_stream, c, value[c])[0] >> 16;
    }
    for (const auto& [a, b] : pairs) {
      if (value[a] < 0 || value[b] < 0) continue;
      const auto one = hidden(vector_stream, a, value[a]), other = hidden(vector_stream, b, value[b]);
      for (std::size_t i = 0; i < one.size(); ++i) log_odds += one[i] * other[i] >> 17;
    }
    made.log_odds = log_odds;
    made.example.label = happens(log_odds, random()) ? 1 : 0;
    return made;
  }

 private:
  struct Number {
    std::uint32_t scale, missing_percent;
    std::int64_t slope;  // in 1 / 65536
  };
  struct Column {
    std::uint32_t values, missing_percent;
    std::int64_t spread;  // in 1 / 65536
  };

  static constexpr std::array<Number, ClickExample::numbers_count> numbers{{{2, 45, 9000},
                                                                            {5, 0, -2500},
                                                                            {8, 21, 2000},
                                                                            {6, 21, -5000},
                                                                            {1200, 2, -4000},
                                                                            {40, 22, -2500},
                                                                            {4, 4, 6000},
                                                                            {8, 0, 1500},
                                                                            {40, 4, -2000},
                                                                            {1, 45, 9000},
                                                                            {2, 4, 4000},
                                                                            {1, 76, 6000},
                                                                            {6, 21, -2000}}};
  // The numbers of values of Criteo's columns; the largest are reduced.
  static constexpr std::array<Column, ClickExample::categories_count> columns{
      {{1460, 0, 30000},   {583, 0, 30000},    {200'000, 3, 8000}, {200'000, 3, 8000}, {305, 0, 30000},
       {24, 12, 30000},    {12'517, 0, 16000}, {633, 0, 30000},    {3, 0, 30000},      {93'145, 0, 12000},
       {5683, 0, 20000},   {200'000, 3, 8000}, {3194, 0, 24000},   {27, 0, 30000},     {14'992, 0, 16000},
       {200'000, 3, 8000}, {10, 0, 30000},     {5652, 0, 20000},   {2173, 44, 24000},  {4, 44, 30000},
       {200'000, 3, 8000}, {18, 76, 30000},    {15, 0, 30000},     {286'181, 3, 8000}, {105, 44, 30000},
       {142'572, 44, 8000}}};
  static constexpr std::array<std::array<std::size_t, 2>, 6> pairs{
      {{4, 8}, {5, 13}, {5, 22}, {8, 22}, {13, 16}, {16, 22}}};
  static constexpr std::int64_t constant = -44000;
  static constexpr std::uint32_t weight_stream = 2, vector_stream = 3;  // 0 and 1 are the streams of the splits

  // Returns log2(x), linear between powers of two, in units of 1 / 65536.
  static constexpr auto log2_of(std::uint64_t x) -> std::int64_t {
    const auto whole = static_cast<int>(std::bit_width(x)) - 1;
    return (std::int64_t{whole} << 16) + static_cast<std::int64_t>((x - (std::uint64_t{1} << whole)) << 16 >> whole);
  }

  // Returns the four hidden numbers of a value of a column: in [-1, 1), in units of 1 / 65536.
  auto hidden(std::uint32_t stream, std::size_t column, std::int64_t value) const -> std::array<std::int64_t, 4> {
    distrib::Philox random{seed_, std::uint64_t{column} << 32 | static_cast<std::uint64_t>(value), stream};
    std::array<std::int64_t, 4> all{};
    for (std::int64_t& one : all) one = std::int64_t{random() >> 15} - 65536;
    return all;
  }

  auto draw(std::size_t column, distrib::Philox& random) const -> std::int64_t {
    const std::vector<std::uint64_t>& up_to = up_to_[column];
    const std::uint64_t word = std::uint64_t{random()} << 32 | random();
    return std::upper_bound(up_to.begin(), up_to.end() - 1, word % up_to.back()) - up_to.begin();
  }

  // Returns the token of a value: a bijection of 32 bits for each column (the finalizer of MurmurHash3, Austin Appleby,
  // public domain).
  auto token(std::size_t column, std::uint32_t value) const -> std::int64_t {
    std::uint32_t x = value ^ distrib::philox(distrib::philox_key(seed_), {static_cast<std::uint32_t>(column)})[0];
    x = (x ^ x >> 16) * 0x85ebca6bU;
    x = (x ^ x >> 13) * 0xc2b2ae35U;
    return x ^ x >> 16;
  }

  // True if u < 1 / (1 + exp(-log_odds)) for u = word / 2^32. With small = exp(-abs(log_odds)), the right side is
  // 1 / (1 + small) or small / (1 + small).
  static constexpr auto happens(std::int64_t log_odds, std::uint32_t word) -> bool {
    const std::uint64_t small = exp_of_minus(static_cast<std::uint64_t>(log_odds < 0 ? -log_odds : log_odds));
    const std::uint64_t u = word, rest = (std::uint64_t{1} << 32) - u;
    if (log_odds < 0) return u << 32 < small * rest;
    return u == 0 || u * small < rest << 32;
  }

  // Returns exp(-x / 65536) in units of 1 / 2^32: the product of exp(-2^i / 65536) for the bits i that are set in x.
  static constexpr auto exp_of_minus(std::uint64_t x) -> std::uint64_t {
    constexpr std::array<std::uint64_t, 21> powers{
        0xffff0000, 0xfffe0002, 0xfffc0008, 0xfff80020, 0xfff00080, 0xffe00200, 0xffc007ff,
        0xff801ffb, 0xff007fd5, 0xfe01feab, 0xfc07f560, 0xf81fab54, 0xf07d5fde, 0xe1eb5127,
        0xc75f7cf5, 0x9b4597e3, 0x5e2d58d9, 0x22a55547, 0x4b0556e,  0x15fc21,   0x1e3};
    if (x >> powers.size() != 0) return 0;
    std::uint64_t product = std::uint64_t{1} << 32;
    for (std::size_t i = 0; i < powers.size(); ++i)
      if ((x >> i & 1) != 0) product = product * powers[i] >> 32;
    return product;
  }

  std::uint64_t seed_;
  std::array<std::vector<std::uint64_t>, columns.size()> up_to_;
};
