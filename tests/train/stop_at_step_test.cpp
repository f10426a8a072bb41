// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/stop_at_step.hpp>

#include "support/catch.hpp"

#include <distrib/train/error.hpp>

using distrib::StopAtStep;

TEST_CASE("StopAtStep: by a global step, or by a number of steps from where a run begins", "[train]") {
  CHECK(StopAtStep{.last_step = 10}.last_step_from(5) == 10);
  CHECK(StopAtStep{.num_steps = 10}.last_step_from(5) == 15);
  const auto code_of = [](const StopAtStep& stop) {
    std::error_code ec;
    stop.check(ec);
    return ec;
  };
  CHECK(code_of({}) == distrib::train_errc::no_end);
  CHECK(code_of({.last_step = 1, .num_steps = 1}) == distrib::train_errc::bad_hook);
  CHECK_FALSE(code_of({.last_step = 1}));
  CHECK_FALSE(code_of({.num_steps = 1}));
}
