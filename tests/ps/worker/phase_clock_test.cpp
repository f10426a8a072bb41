// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/worker/phase_clock.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <string>

using namespace std::chrono_literals;
using distrib::Instant;
using distrib::Phase;
using distrib::PhaseClock;

namespace {

/// Writes "KIND STEP:BEGIN-END", in milliseconds.
struct Written {
  std::string text;
  auto observer() -> distrib::PhaseObserver {
    return [this](const Phase& phase) {
      const auto ms = [](Instant time) {
        return std::to_string(std::chrono::duration_cast<std::chrono::milliseconds>(time.time_since_epoch()).count());
      };
      CHECK(phase.of == 7);
      CHECK(phase.is_rank);
      text += std::string{to_string(phase.kind)} + " " + std::to_string(phase.step) + ":" + ms(phase.begin) + "-" +
              ms(phase.end) + " ";
    };
  }
};

constexpr Instant zero{};

}  // namespace

TEST_CASE("PhaseClock: the phases of a step follow each other without a gap", "[ps]") {
  Written written;
  PhaseClock clock{7, written.observer()};
  clock.computing(1, 0, zero + 10ms);
  clock.computed(zero + 30ms);
  clock.written(zero + 35ms);
  clock.written(zero + 36ms);  // of no interest any more
  clock.arriving(zero + 50ms);
  clock.arriving(zero + 51ms);
  clock.computing(2, 1, zero + 55ms);
  CHECK(written.text == "reached 0:10-10 compute 1:10-30 push 1:30-35 wait 1:35-50 pull 1:50-55 reached 1:55-55 ");
}

TEST_CASE("PhaseClock: values that come before the push is written, or all at once", "[ps]") {
  Written written;
  PhaseClock clock{7, written.observer()};
  clock.arriving(zero);  // before the first contribution
  clock.computing(5, 4, zero + 1ms);
  clock.computed(zero + 2ms);
  clock.arriving(zero + 3ms);
  clock.computing(6, 5, zero + 4ms);
  CHECK(written.text == "reached 4:1-1 compute 5:1-2 push 5:2-4 wait 5:4-4 pull 5:4-4 reached 5:4-4 ");
  written.text.clear();
  clock.computing(6, 5, zero + 9ms);  // the worker has joined again, and the contribution is computed again
  clock.computed(zero + 10ms);
  CHECK(written.text == "reached 5:9-9 compute 6:9-10 ");
}

TEST_CASE("PhaseClock: without an observer nothing is measured", "[ps]") {
  PhaseClock clock{0, {}};
  CHECK_FALSE(clock.measures());
  clock.computing(1, 0, zero);
  clock.computed(zero);
}
