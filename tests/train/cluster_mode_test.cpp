// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/cluster_mode.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;

TEST_CASE("ClusterMode: what the protocol says unless told", "[train]") {
  const distrib::ClusterMode mode;
  CHECK(mode.start_within == 5min);
  CHECK(mode.lease == 1min);
  CHECK(mode.restart_window == 10min);
  CHECK(mode.replay_budget_bytes == 256U << 20);
  CHECK_FALSE(mode.metrics);
}
