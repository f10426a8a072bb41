// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/server/server_options.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;

TEST_CASE("ServerOptions: the protocol's times, and no directory", "[ps]") {
  const distrib::ServerOptions options;
  CHECK(options.directory.empty());
  CHECK(options.lock_within == 5s);
  CHECK_FALSE(options.observer);
  CHECK_FALSE(options.metrics);
  CHECK(options.shard.lease == 60s);
  CHECK(options.shard.restart_window == 10min);
  CHECK(options.rpc.silent_after == 60s);
}
