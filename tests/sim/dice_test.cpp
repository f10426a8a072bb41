// SPDX-License-Identifier: Apache-2.0
#include <distrib/sim/dice.hpp>

#include "support/catch.hpp"

#include <set>

using distrib::sim::Dice;

TEST_CASE("Dice: the same numbers for the same seed, on every machine", "[sim]") {
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
