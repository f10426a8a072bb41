// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/consistency.hpp>

#include "support/catch.hpp"

using distrib::AsynchronousParallel;
using distrib::BulkSynchronousParallel;
using distrib::StaleSynchronousParallel;

TEST_CASE("Consistency: short names and canonical texts", "[ps]") {
  CHECK(BulkSynchronousParallel::mode == "sync");
  CHECK(StaleSynchronousParallel::mode == "ssp");
  CHECK(AsynchronousParallel::mode == "async");
  CHECK(BulkSynchronousParallel{}.describe() == "bulk_synchronous_parallel");
  CHECK(StaleSynchronousParallel{}.describe() == "stale_synchronous_parallel staleness=3");
  CHECK(StaleSynchronousParallel{.staleness = 0}.describe() == "stale_synchronous_parallel staleness=0");
  CHECK(AsynchronousParallel{}.describe() == "asynchronous_parallel");
}

TEST_CASE("Consistency: values", "[ps]") {
  STATIC_REQUIRE(BulkSynchronousParallel::synchronous);
  STATIC_REQUIRE_FALSE(StaleSynchronousParallel::synchronous);
  STATIC_REQUIRE_FALSE(AsynchronousParallel::synchronous);
  STATIC_REQUIRE(AsynchronousParallel::staleness == UINT64_MAX);
  CHECK(StaleSynchronousParallel{.staleness = 2} == StaleSynchronousParallel{2});
  CHECK(StaleSynchronousParallel{.staleness = 2} != StaleSynchronousParallel{});
}
