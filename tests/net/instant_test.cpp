// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/instant.hpp>

#include "support/catch.hpp"

using distrib::Instant;
using distrib::instant_after;
using namespace std::chrono_literals;

TEST_CASE("instant_after: a sum that cannot be represented is Instant::max", "[net]") {
  const Instant now = std::chrono::steady_clock::now();
  CHECK(instant_after(now, 0ms) == now);
  CHECK(instant_after(now, 1500ms) == now + 1500ms);
  CHECK(instant_after(now, -1ms) == now - 1ms);
  CHECK(instant_after(now, 24h * 365) == now + 24h * 365);
  CHECK(instant_after(now, 24h * 365 * 100) == Instant::max());
  CHECK(instant_after(now, std::chrono::milliseconds::max()) == Instant::max());
  CHECK(instant_after(Instant::max(), 1ms) == Instant::max());
  CHECK(instant_after(Instant::max() - 24h, 25h) == Instant::max());
  STATIC_REQUIRE(instant_after(Instant{}, 1ms) == Instant{1ms});
}

TEST_CASE("instant_after: a time of less than minus a century counts as minus a century", "[net]") {
  const Instant now = std::chrono::steady_clock::now();
  const Instant long_ago = now - 24h * 365 * 100;
  CHECK(instant_after(now, -24h * 365 * 100) == long_ago);
  CHECK(instant_after(now, -24h * 365 * 101) == long_ago);
  CHECK(instant_after(now, std::chrono::milliseconds::min()) == long_ago);
  STATIC_REQUIRE(instant_after(Instant{}, std::chrono::milliseconds::min()) < Instant{});
}

TEST_CASE("bounded_time: at most a century, in milliseconds rounded up, whatever the unit is", "[net]") {
  using distrib::detail::bounded_time;
  using distrib::detail::century;
  CHECK(bounded_time(-7ms) == -7ms);
  CHECK(bounded_time(1ns) == 1ms);
  CHECK(bounded_time(2s) == 2000ms);
  CHECK(bounded_time(24h * 365 * 100) == century);
  CHECK(bounded_time(std::chrono::hours::max()) == century);
  CHECK(bounded_time(std::chrono::seconds::max()) == century);
  CHECK(bounded_time(std::chrono::milliseconds::max()) == century);
  CHECK(bounded_time(std::chrono::duration<double>::max()) == century);
  CHECK(bounded_time(std::chrono::hours::min()) == -century);
  CHECK(bounded_time(std::chrono::milliseconds::min()) == -century);
}
