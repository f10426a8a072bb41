// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/philox.hpp>

#include "support/catch.hpp"

#include <concepts>
#include <random>
#include <set>
#include <vector>

using distrib::Philox;
using distrib::detail::PhiloxBlock;
using distrib::detail::PhiloxKey;

static_assert(std::uniform_random_bit_generator<Philox>);
static_assert(std::regular<Philox>);

// Random123 1.14, tests/kat_vectors, lines "philox4x32 10".
TEST_CASE("philox: the published known answers", "[philox]") {
  struct Row {
    PhiloxKey key;
    PhiloxBlock counter;
    PhiloxBlock answer;
  };
  static constexpr Row rows[] = {
      {{0, 0}, {0, 0, 0, 0}, {0x6627e8d5, 0xe169c58d, 0xbc57ac4c, 0x9b00dbd8}},
      {{0xffffffff, 0xffffffff},
       {0xffffffff, 0xffffffff, 0xffffffff, 0xffffffff},
       {0x408f276d, 0x41c83b0e, 0xa20bc7c6, 0x6d5451fd}},
      {{0xa4093822, 0x299f31d0},
       {0x243f6a88, 0x85a308d3, 0x13198a2e, 0x03707344},
       {0xd16cfe09, 0x94fdcceb, 0x5001e420, 0x24126ea1}},
  };
  for (const Row& row : rows) CHECK(distrib::philox(row.key, row.counter) == row.answer);
  static_assert(distrib::philox(rows[0].key, rows[0].counter) == rows[0].answer);
}

TEST_CASE("Philox: words of (seed, a, b) are philox of the corresponding counters", "[philox]") {
  Philox random{0x0123456789abcdef, 0xfedcba9876543210, 7};
  for (std::uint32_t block = 0; block < 3; ++block)
    for (const std::uint32_t word : distrib::philox({0x89abcdef, 0x01234567}, {block, 7, 0x76543210, 0xfedcba98}))
      CHECK(random() == word);
}

TEST_CASE("Philox: another seed, a or b gives another sequence", "[philox]") {
  std::set<std::uint32_t> firsts;
  for (std::uint64_t seed : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32})
    for (std::uint64_t a : {std::uint64_t{0}, std::uint64_t{1}, std::uint64_t{1} << 32})
      for (std::uint32_t b : {0U, 1U, 2U}) firsts.insert(Philox{seed, a, b}());
  CHECK(firsts.size() == 27);
}

TEST_CASE("Philox: a copy continues at the same position", "[philox]") {
  Philox random{1, 2, 3};
  for (int i = 0; i < 5; ++i) random();
  Philox copy = random;
  CHECK(copy == random);
  CHECK(random() == copy());
  random();
  CHECK(copy != random);
}

TEST_CASE("uniform01: the upper 24 bits, never 1", "[philox]") {
  CHECK(distrib::uniform01(0) == 0.0F);
  CHECK(distrib::uniform01(0xff) == 0.0F);
  CHECK(distrib::uniform01(0x100) == 0x1p-24F);
  CHECK(distrib::uniform01(0x80000000) == 0.5F);
  CHECK(distrib::uniform01(0xffffffff) == 1.0F - 0x1p-24F);
}

TEST_CASE("Philox: the numbers are evenly distributed", "[philox]") {
  Philox random{42, 0, 0};
  std::vector<int> counts(16);
  for (int i = 0; i < 16'000; ++i) ++counts[static_cast<std::size_t>(distrib::uniform01(random()) * 16.0F)];
  for (const int count : counts) {
    CHECK(count > 850);
    CHECK(count < 1150);
  }
}

TEST_CASE("mix_bits: as SplitMix64 was published", "[core]") {
  // The first numbers of SplitMix64 with seed 0: multiples of the golden ratio's increment, each mixed.
  CHECK(distrib::detail::mix_bits(0x9E37'79B9'7F4A'7C15) == 0xE220'A839'7B1D'CDAF);
  CHECK(distrib::detail::mix_bits(0x3C6E'F372'FE94'F82A) == 0x6E78'9E6A'A1B9'65F4);
}
