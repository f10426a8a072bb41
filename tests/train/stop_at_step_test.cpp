// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/stop_at_step.hpp>

#include "support/catch.hpp"

#include <distrib/train/hook.hpp>

TEST_CASE("StopAtStep: a setting that hears no event", "[train]") {
  STATIC_REQUIRE(distrib::Hook<distrib::StopAtStep>);
  STATIC_REQUIRE_FALSE(distrib::detail::hears_step<distrib::StopAtStep>);
  CHECK(distrib::StopAtStep{6000}.last_step == 6000);
}
