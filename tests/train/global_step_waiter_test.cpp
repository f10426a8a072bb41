// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/global_step_waiter.hpp>

#include "support/catch.hpp"

TEST_CASE("GlobalStepWaiter: a worker may begin at its step, and at once with 0", "[train]") {
  CHECK(distrib::GlobalStepWaiter{}.may_begin(0));
  const distrib::GlobalStepWaiter waiter{5};
  CHECK_FALSE(waiter.may_begin(4));
  CHECK(waiter.may_begin(5));
  CHECK(waiter.may_begin(6));
}
