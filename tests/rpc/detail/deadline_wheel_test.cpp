// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/detail/deadline_wheel.hpp>

#include <distrib/sim/dice.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <map>
#include <vector>

using distrib::Instant;
using distrib::detail::DeadlineWheel;
using namespace std::chrono_literals;

namespace {

const Instant begin{1'000h};

auto all_expired(DeadlineWheel& wheel, Instant now) -> std::vector<std::uint32_t> {
  std::vector<std::uint32_t> slots;
  while (const auto slot = wheel.expired(now)) slots.push_back(*slot);
  std::sort(slots.begin(), slots.end());
  return slots;
}

}  // namespace

TEST_CASE("DeadlineWheel: without a deadline it never wakes", "[rpc]") {
  DeadlineWheel wheel;
  CHECK(!wheel.wake());
  CHECK(!wheel.expired(begin));
  wheel.clear(7);
  wheel.set(7, begin);
  wheel.clear(7);
  CHECK(!wheel.wake());
  CHECK(!wheel.expired(begin + 1h));
}

TEST_CASE("DeadlineWheel: a deadline at any distance expires at most one tick late, never early", "[rpc]") {
  for (const auto after : {0us, 1us, 3'999us, 4'000us, 4'001us, 50'000us, 2'047'000us, 2'048'000us, 10'000'000us}) {
    CAPTURE(after.count());
    DeadlineWheel wheel;
    wheel.set(3, begin + after);
    if (after > 0us) CHECK(!wheel.expired(begin + after - 1us));
    CHECK(all_expired(wheel, begin + after + 4ms) == std::vector<std::uint32_t>{3});
    CHECK(!wheel.wake());
  }
}

TEST_CASE("DeadlineWheel: if woken as wake says, no deadline is missed", "[rpc]") {
  for (std::uint64_t seed = 1; seed <= 200; ++seed) {
    CAPTURE(seed);
    distrib::sim::Dice dice{seed};
    DeadlineWheel wheel;
    std::map<std::uint32_t, Instant> model;
    Instant now = begin;
    for (int step = 0; step < 400; ++step) {
      const auto slot = static_cast<std::uint32_t>(dice.between(0, 40));
      switch (dice.between(0, 3)) {
        case 0:
        case 1:
          if (!model.contains(slot)) {
            const Instant when = now + std::chrono::microseconds{dice.between(1, dice.between(1, 5'000'000))};
            wheel.set(slot, when);
            model[slot] = when;
          }
          break;
        case 2:
          wheel.clear(slot);
          model.erase(slot);
          break;
        default: {
          const auto wake = wheel.wake();
          REQUIRE(wake.has_value() == !model.empty());
          const Instant random = now + std::chrono::microseconds{dice.between(0, 3'000'000)};
          now = wake && dice.between(0, 1) == 0 ? std::max(now, *wake) : random;
          for (const std::uint32_t over : all_expired(wheel, now)) {
            REQUIRE(model.contains(over));
            REQUIRE(model[over] <= now);
            model.erase(over);
          }
          for (const auto& [left, when] : model) REQUIRE(when > now - 4ms);
        }
      }
    }
    // Woken only as `wake` says, it finds all deadlines that are left.
    int alarms = 0;
    while (const auto wake = wheel.wake()) {
      REQUIRE(++alarms < 1000);
      now = std::max(now, *wake);
      for (const std::uint32_t over : all_expired(wheel, now)) model.erase(over);
      now += 1us;
    }
    CHECK(model.empty());
  }
}

TEST_CASE("DeadlineWheel: a deadline in the same word of the bitmap, but before the start, is a turn away", "[rpc]") {
  DeadlineWheel wheel;
  wheel.set(1, begin + 160ms);
  wheel.set(2, begin + 2160ms);  // 540 ticks: one turn and 28 ticks after the begin
  wheel.clear(1);
  CHECK(wheel.wake() == begin + 2160ms);
  CHECK(!wheel.expired(begin + 2159ms));
  CHECK(all_expired(wheel, begin + 2160ms) == std::vector<std::uint32_t>{2});
  CHECK(!wheel.wake());
}
