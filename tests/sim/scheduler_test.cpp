// SPDX-License-Identifier: Apache-2.0
#include <distrib/sim/scheduler.hpp>

#include "support/catch.hpp"

#include <string>

using distrib::sim::Scheduler;
using namespace std::chrono_literals;

TEST_CASE("Scheduler: by time, at one instant in the order asked for", "[sim]") {
  Scheduler scheduler;
  const auto start = scheduler.now();
  std::string story;
  scheduler.after(2ms, [&] { story += "c"; });
  scheduler.after(1ms, [&] {
    story += "a";
    scheduler.after(0ms, [&] { story += "b"; });
    scheduler.at(start, [&] { story += "past"; });  // happens next, not before
  });
  scheduler.after(2ms, [&] { story += "d"; });
  CHECK(scheduler.waiting() == 3);
  while (scheduler.step()) {
  }
  CHECK(story == "abpastcd");
  CHECK(scheduler.now() == start + 2ms);
  CHECK_FALSE(scheduler.step());
}
