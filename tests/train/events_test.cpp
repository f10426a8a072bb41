// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/events.hpp>

#include "support/catch.hpp"

TEST_CASE("TrainingResult: nothing has happened yet", "[train]") {
  const distrib::TrainingResult result;
  CHECK_FALSE(result.complete);
  CHECK(result.steps == 0);
  CHECK(result.checkpoint.empty());
  CHECK(result.metrics.examples == 0);
}
