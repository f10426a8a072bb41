// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/event.hpp>

#include "support/catch.hpp"

#include <vector>

TEST_CASE("Event: an observer is told values that it may keep", "[core]") {
  std::vector<distrib::Event> heard;
  const distrib::Observer observer = [&heard](const distrib::Event& event) { heard.push_back(event); };
  observer({distrib::Event::Kind::lost, "/job:worker/task:1", "/job:ps/task:0",
            std::make_error_code(std::errc::connection_reset), "lost /job:ps/task:0"});
  REQUIRE(heard.size() == 1);
  CHECK(heard.front().kind == distrib::Event::Kind::lost);
  CHECK(heard.front().peer == "/job:ps/task:0");
  CHECK(heard.front().code == std::errc::connection_reset);
}
