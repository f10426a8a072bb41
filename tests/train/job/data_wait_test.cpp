// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/job/data_wait.hpp>

#include "support/catch.hpp"

#include <chrono>

TEST_CASE("DataWait: a long wait is told once", "[train]") {
  distrib::DataWait wait;
  const distrib::DataWait::Clock::time_point now{};
  using std::chrono::milliseconds;
  CHECK_FALSE(wait.is_worth_telling(1, true, now));
  CHECK_FALSE(wait.is_worth_telling(2, false, now));
  CHECK_FALSE(wait.is_worth_telling(2, false, now + milliseconds{900}));
  CHECK(wait.is_worth_telling(2, false, now + milliseconds{1'000}));
  CHECK(wait.event("worker").text == "waits for the records of step 2");
  CHECK(wait.event("worker").kind == distrib::Event::Kind::waiting);
  CHECK_FALSE(wait.is_worth_telling(1, true, now + milliseconds{1'500}));  // another rank of this process
  CHECK_FALSE(wait.is_worth_telling(2, false, now + milliseconds{2'000}));
  CHECK_FALSE(wait.is_worth_telling(2, true, now + milliseconds{3'000}));
  CHECK_FALSE(wait.is_worth_telling(3, false, now + milliseconds{3'000}));
  CHECK(wait.is_worth_telling(3, false, now + milliseconds{4'100}));
}
