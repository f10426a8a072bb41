// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/kept_steps.hpp>

#include "support/catch.hpp"

#include <optional>

TEST_CASE("KeptSteps: a restart goes back to the oldest kept checkpoint at most", "[train]") {
  distrib::KeptSteps three{distrib::SaveCheckpoint{.directory = "x", .max_to_keep = 3}};
  CHECK_FALSE(three.saved(10));
  CHECK_FALSE(three.saved(20));
  CHECK(three.saved(30) == 10);
  CHECK(three.saved(40) == 20);
  CHECK_FALSE(three.saved(30));  // sent back: 20 and 30 are left
  CHECK(three.saved(40) == 20);
  distrib::KeptSteps one{distrib::SaveCheckpoint{.directory = "x", .max_to_keep = 1}};
  CHECK_FALSE(one.saved(1));
  CHECK(one.saved(2) == 1);  // the newest may be lost on one shard
  distrib::KeptSteps all{distrib::SaveCheckpoint{.directory = "x", .max_to_keep = 0}};
  distrib::KeptSteps none{std::nullopt};
  for (distrib::Step step = 1; step < 10; ++step) {
    CHECK_FALSE(all.saved(step));
    CHECK_FALSE(none.saved(step));
  }
}
