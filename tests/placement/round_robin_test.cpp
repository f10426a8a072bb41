// SPDX-License-Identifier: Apache-2.0
#include <distrib/placement/round_robin.hpp>

#include "support/catch.hpp"

using distrib::RoundRobinStrategy;
static_assert(distrib::PlacementStrategy<RoundRobinStrategy>);

TEST_CASE("RoundRobinStrategy: chooses tasks in turn", "[placement]") {
  RoundRobinStrategy strategy;
  for (const std::uint32_t expected : {0U, 1U, 2U, 0U, 1U}) CHECK(strategy.place({}, 3) == expected);
}

TEST_CASE("RoundRobinStrategy: a copy continues independently", "[placement]") {
  RoundRobinStrategy strategy;
  CHECK(strategy.place({}, 2) == 0);
  RoundRobinStrategy copy = strategy;
  CHECK(copy == strategy);
  CHECK(copy.place({}, 2) == 1);
  CHECK_FALSE(copy == strategy);
  CHECK(strategy.place({}, 2) == 1);
}
