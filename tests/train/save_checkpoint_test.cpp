// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/save_checkpoint.hpp>

#include "support/catch.hpp"

using distrib::Retention;
using distrib::SaveCheckpoint;

TEST_CASE("SaveCheckpoint: retention() returns its settings, and by default TensorFlow's settings", "[train]") {
  const SaveCheckpoint setting{.directory = "out", .max_to_keep = 2, .keep_checkpoint_every_n_hours = 3};
  CHECK(setting.retention() == Retention{.max_to_keep = 2, .keep_checkpoint_every_n_hours = 3});
  CHECK(SaveCheckpoint{}.retention() == Retention{});
}
