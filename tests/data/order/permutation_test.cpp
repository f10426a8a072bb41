// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/order/permutation.hpp>

#include "support/catch.hpp"

#include <map>
#include <set>
#include <vector>

using distrib::Permutation;

namespace {
auto permuted(std::uint64_t size, std::uint64_t seed, std::uint64_t epoch) -> std::vector<std::uint64_t> {
  const Permutation permutation{size, seed, epoch};
  std::vector<std::uint64_t> all;
  for (std::uint64_t i = 0; i < size; ++i) all.push_back(permutation(i));
  return all;
}
}  // namespace

TEST_CASE("Permutation: has every number once, for any size", "[data]") {
  for (const std::uint64_t size : {1U, 2U, 3U, 4U, 5U, 7U, 8U, 9U, 31U, 32U, 33U, 100U, 1000U, 4097U, 60000U}) {
    CAPTURE(size);
    auto all = permuted(size, 7, 3);
    std::vector<bool> seen(size);
    for (const std::uint64_t number : all) {
      REQUIRE(number < size);
      REQUIRE(!seen[number]);
      seen[number] = true;
    }
  }
}

TEST_CASE("Permutation: is the same on every machine and in every version", "[data]") {
  // Later versions continue stored jobs, so these numbers must not change.
  CHECK(permuted(8, 1, 0) == std::vector<std::uint64_t>{6, 3, 4, 1, 5, 7, 0, 2});
  CHECK(Permutation{60000, 20260901, 5}(59999) == 25862);
  CHECK(Permutation{std::uint64_t{1} << 40, 1, 1}(0) == 456508196004);
}

TEST_CASE("Permutation: each seed and each epoch has another order", "[data]") {
  std::set<std::vector<std::uint64_t>> orders;
  for (std::uint64_t seed = 0; seed < 10; ++seed)
    for (std::uint64_t epoch = 0; epoch < 10; ++epoch) orders.insert(permuted(100, seed, epoch));
  CHECK(orders.size() == 100);
}

TEST_CASE("Permutation: all orders of four numbers are about equally frequent", "[data]") {
  std::map<std::vector<std::uint64_t>, int> counts;
  for (std::uint64_t epoch = 0; epoch < 24000; ++epoch) ++counts[permuted(4, 11, epoch)];
  CHECK(counts.size() == 24);
  for (const auto& [order, count] : counts) {
    CHECK(count > 700);
    CHECK(count < 1300);
  }
}

TEST_CASE("Permutation: every number is equally likely at every position", "[data]") {
  // Chi-square of the position of each number: 50 x 50 cells, 20000 epochs, 49 * 49 degrees of freedom, deviation 69.
  constexpr std::uint64_t size = 50;
  constexpr int epochs = 20000;
  std::vector<int> cells(size * size);
  for (std::uint64_t epoch = 0; epoch < epochs; ++epoch) {
    const Permutation permutation{size, 5, epoch};
    for (std::uint64_t i = 0; i < size; ++i) ++cells[i * size + permutation(i)];
  }
  constexpr double expected = epochs / static_cast<double>(size);
  double chi_square = 0;
  for (const int count : cells) chi_square += (count - expected) * (count - expected) / expected;
  CHECK(chi_square > 2401 - 5 * 69);
  CHECK(chi_square < 2401 + 5 * 69);
}
