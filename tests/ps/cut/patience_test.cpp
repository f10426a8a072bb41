// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/cut/patience.hpp>

#include "support/catch.hpp"

#include <chrono>
#include <thread>

using distrib::detail::Patience;

TEST_CASE("Patience: a wait takes its time, and ends at once when nobody is to wait any more", "[ps]") {
  using namespace std::chrono_literals;
  Patience patience;
  CHECK(patience.wait(1ms));
  bool waited = true;
  const auto begun = std::chrono::steady_clock::now();
  std::thread other{[&] { waited = patience.wait(600'000ms); }};
  patience.end();
  other.join();
  CHECK_FALSE(waited);
  CHECK(std::chrono::steady_clock::now() - begun < 300s);
  CHECK_FALSE(patience.wait(600'000ms));
}
