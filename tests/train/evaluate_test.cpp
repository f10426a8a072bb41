// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/evaluate.hpp>

#include "support/catch.hpp"

#include <distrib/train/hook.hpp>

TEST_CASE("Evaluate: a setting with its data", "[train]") {
  const distrib::Evaluate setting{42, 7};
  STATIC_REQUIRE(distrib::Hook<distrib::Evaluate<int>>);
  CHECK(setting.data == 42);
  CHECK(setting.every_steps == 7);
}
