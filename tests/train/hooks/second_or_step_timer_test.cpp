// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/hooks/second_or_step_timer.hpp>

#include "support/catch.hpp"

#include <distrib/train/error.hpp>

#include <limits>
#include <vector>

using namespace std::chrono_literals;
using distrib::SecondOrStepTimer;
using distrib::Step;
using distrib::TimerOptions;

namespace {

constexpr SecondOrStepTimer::Time begin{};

auto code_of(const TimerOptions& options) -> std::error_code {
  std::error_code ec;
  options.check(ec);
  return ec;
}

}  // namespace

TEST_CASE("SecondOrStepTimer: by steps it is due at the first step, then at the first one that is far enough",
          "[train]") {
  SecondOrStepTimer timer{{.every_steps = 8}};
  std::vector<Step> due;
  for (Step step = 1; step <= 30; ++step)
    if (timer.should_trigger_for_step(step, begin)) {
      timer.update_last_triggered_step(step, begin);
      due.push_back(step);
    }
  CHECK(due == std::vector<Step>{1, 9, 17, 25});
  CHECK(timer.last_triggered_step() == 25);

  CHECK_FALSE(timer.should_trigger_for_step(32, begin));
  CHECK(timer.should_trigger_for_step(40, begin));  // some steps were left out
  CHECK_FALSE(timer.should_trigger_for_step(3, begin));  // the step went back
  timer.reset();
  CHECK(timer.should_trigger_for_step(3, begin));
}

TEST_CASE("SecondOrStepTimer: by seconds it is due when they have passed, and never twice at one step", "[train]") {
  SecondOrStepTimer timer{{.every_secs = 2}};
  CHECK(timer.should_trigger_for_step(1, begin));
  CHECK_FALSE(timer.update_last_triggered_step(1, begin));
  CHECK_FALSE(timer.should_trigger_for_step(1, begin + 10s));
  CHECK_FALSE(timer.should_trigger_for_step(2, begin + 1999ms));
  CHECK(timer.should_trigger_for_step(2, begin + 2s));
  const auto passed = timer.update_last_triggered_step(4, begin + 3s);
  REQUIRE(passed);
  CHECK(passed->time == 3s);
  CHECK(passed->steps == 3);
}

TEST_CASE("SecondOrStepTimer: exactly one of steps and seconds", "[train]") {
  CHECK(code_of({}) == distrib::train_errc::bad_hook);
  CHECK(code_of({.every_secs = 1, .every_steps = 1}) == distrib::train_errc::bad_hook);
  CHECK(code_of({.every_secs = -1}) == distrib::train_errc::bad_hook);
  CHECK(code_of({.every_secs = std::numeric_limits<double>::quiet_NaN()}) == distrib::train_errc::bad_hook);
  CHECK_FALSE(code_of({.every_secs = 0}));
  CHECK_THROWS_WITH(SecondOrStepTimer{TimerOptions{}}, ContainsSubstring("exactly one of"));
}
