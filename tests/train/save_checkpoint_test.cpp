// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/save_checkpoint.hpp>

#include "support/catch.hpp"

#include <distrib/train/hook.hpp>

TEST_CASE("SaveCheckpoint: a setting with TensorFlow's retention as its default", "[train]") {
  STATIC_REQUIRE(distrib::Hook<distrib::SaveCheckpoint>);
  const distrib::SaveCheckpoint setting{.directory = "out"};
  CHECK(setting.every_steps == 1000);
  CHECK(setting.max_to_keep == 5);
  CHECK(setting.keep_checkpoint_every_n_hours == 0);
}
