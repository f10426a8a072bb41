// SPDX-License-Identifier: Apache-2.0
#include <distrib/sim/dice.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <cstdlib>
#include <set>

using distrib::sim::Dice;

TEST_CASE("Dice: one seed gives the same numbers on every machine", "[sim]") {
  Dice dice{0};
  CHECK(dice.next() == 0x910a2dec89025cc1);
  Dice again{0};
  CHECK(again.next() == 0x910a2dec89025cc1);
  CHECK(Dice{1}.next() != Dice{2}.next());
}

TEST_CASE("Dice: ranges include their ends", "[sim]") {
  Dice dice{7};
  std::set<std::uint64_t> seen;
  for (int i = 0; i < 1000; ++i) seen.insert(dice.between(3, 6));
  CHECK(seen == std::set<std::uint64_t>{3, 4, 5, 6});
  CHECK(dice.pick({5}) == 5);
  CHECK_FALSE(dice.percent(0));
  CHECK(dice.percent(100));
}

TEST_CASE("Dice: percent() is true in that share of cases, never for 0, always for 100; pick() gives each value",
          "[sim]") {
  Dice dice{3};
  int thirty = 0;
  std::set<int> picked;
  std::set<std::uint64_t> one;
  for (int i = 0; i < 10'000; ++i) {
    CHECK_FALSE(dice.percent(0));
    CHECK(dice.percent(100));
    thirty += dice.percent(30) ? 1 : 0;
    picked.insert(dice.pick({7, 8, 9}));
    CHECK(dice.below(3) < 3);
    one.insert(dice.between(5, 5));
  }
  CHECK(std::abs(thirty - 3000) < 150);
  CHECK(picked == std::set<int>{7, 8, 9});
  CHECK(one == std::set<std::uint64_t>{5});
}
