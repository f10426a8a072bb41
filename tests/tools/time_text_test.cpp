// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/time_text.hpp"

#include "support/catch.hpp"

#include <chrono>

using tools::time_text;
using namespace std::chrono_literals;

TEST_CASE("time_text: times in words") {
  CHECK(time_text(0ns) == "0 ns");
  CHECK(time_text(999ns) == "999 ns");
  CHECK(time_text(1'000ns) == "1.0 us");
  CHECK(time_text(1'290ns) == "1.2 us");
  CHECK(time_text(85'900us) == "85 ms");
  CHECK(time_text(9'999ms) == "9.9 s");
  CHECK(time_text(1h) == "3600 s");
}
