// SPDX-License-Identifier: Apache-2.0
#include <distrib/placement/random.hpp>

#include <distrib/core/sha256.hpp>

#include "support/catch.hpp"

#include <map>
#include <string>
#include <string_view>
#include <vector>

using distrib::RandomStrategy;
static_assert(distrib::PlacementStrategy<RandomStrategy>);

TEST_CASE("RandomStrategy: chooses the same tasks as TensorFlow", "[placement]") {
  struct Case {
    RandomStrategy strategy;
    std::uint32_t num_tasks;
    std::string_view name;
    std::uint32_t task;
  };
  const Case cases[] = {
      {{.seed = 0}, 2, "Variable", 1},
      {{.seed = 0}, 2, "Variable_1", 0},
      {{.seed = 0}, 1, "Variable", 0},
      {{.seed = 42}, 5, "dense/kernel", 1},
      {{.seed = 42}, 5, "global_step", 4},
      {{.seed = -7}, 1000003, "embedding/part_1", 863140},
      {{.seed = 9223372036854775807}, 4294967295, "Gewichte äöü", 775466943},
      {{.seed = 0}, 97, "", 45},
  };
  for (const Case& c : cases) {
    CAPTURE(c.name, c.strategy.seed);
    CHECK(c.strategy.place({c.name}, c.num_tasks) == c.task);
  }
  CHECK(distrib::to_hex(RandomStrategy{.seed = 42}.digest("dense/kernel")) == "e70340119a581335605f4fcf91286671");
}

TEST_CASE("RandomStrategy: with weights", "[placement]") {
  const RandomStrategy alike{.weights = {1, 1, 1}};
  const RandomStrategy weighted{.weights = {6, 1, 3}};
  std::map<std::uint32_t, int> count;
  for (int i = 0; i < 1000; ++i) {
    const std::string name = "v" + std::to_string(i);
    CHECK(alike.place({name}, 3) == RandomStrategy{}.place({name}, 3));
    const std::uint32_t tenth = RandomStrategy{}.place({name}, 10);
    const std::uint32_t task = weighted.place({name}, 3);
    CHECK(task == (tenth < 6 ? 0U : tenth < 7 ? 1U : 2U));
    ++count[task];
  }
  CHECK(count[0] > 500);
  CHECK(count[1] > 50);
  CHECK(count[2] > 200);
}

TEST_CASE("RandomStrategy: refuses weights that do not fit", "[placement]") {
  CHECK_THROWS_WITH((RandomStrategy{.weights = {1}}.place({"v"}, 2)), ContainsSubstring("1 weights for 2 tasks: one"));
  CHECK_THROWS_WITH((RandomStrategy{.weights = {0, 1}}.place({"v"}, 2)), ContainsSubstring("task 0: a weight must be"));
}
