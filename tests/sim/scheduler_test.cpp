// SPDX-License-Identifier: Apache-2.0
#include <distrib/sim/scheduler.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <string>
#include <utility>
#include <vector>

using distrib::sim::Scheduler;
using namespace std::chrono_literals;

TEST_CASE("Scheduler: events happen by time, and at one instant in the order in which they were scheduled", "[sim]") {
  Scheduler scheduler;
  const auto start = scheduler.now();
  std::string story;
  scheduler.after(2ms, [&] { story += "c"; });
  scheduler.after(1ms, [&] {
    story += "a";
    scheduler.after(0ms, [&] { story += "b"; });
    scheduler.at(start, [&] { story += "past"; });  // counts as now
  });
  scheduler.after(2ms, [&] { story += "d"; });
  CHECK(scheduler.waiting() == 3);
  while (scheduler.step()) {
  }
  CHECK(story == "abpastcd");
  CHECK(scheduler.now() == start + 2ms);
  CHECK_FALSE(scheduler.step());
}

TEST_CASE("Scheduler: many events, each at its time, and in order at one instant", "[sim]") {
  Scheduler scheduler;
  CHECK(scheduler.now() == distrib::Instant{1h});  // not 0, which a core may take for "never"
  std::vector<std::pair<int, int>> happened;
  for (int i = 0; i < 200; ++i) {
    const int when = i * 7919 % 20;
    scheduler.at(scheduler.now() + std::chrono::milliseconds{when}, [&happened, &scheduler, when, i] {
      CHECK(scheduler.now() == distrib::Instant{1h} + std::chrono::milliseconds{when});
      happened.emplace_back(when, i);
    });
    CHECK(scheduler.waiting() == static_cast<std::size_t>(i) + 1);
  }
  for (std::size_t left = 200; left > 0; --left) {
    CHECK(scheduler.step());
    CHECK(scheduler.waiting() == left - 1);
  }
  CHECK_FALSE(scheduler.step());
  CHECK(happened.size() == 200);
  CHECK(std::ranges::is_sorted(happened));
}
