// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/worker/worker_client_options.hpp>

#include "support/catch.hpp"

using namespace std::chrono_literals;

TEST_CASE("WorkerClientOptions: the protocol's times", "[ps]") {
  const distrib::WorkerClientOptions options;
  CHECK(options.start_within == 5min);
  CHECK(options.lost_after == 11min);  // the lease, and the time to start again
  CHECK(options.goodbye_within == 5s);
  CHECK_FALSE(options.observer);
}

TEST_CASE("WorkerEnd: done unless told", "[ps]") {
  const distrib::WorkerEnd end;
  CHECK(end.code == 0);
  CHECK_FALSE(end.why);
  CHECK(end.result.empty());
}
