// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/consistency.hpp>

#include "support/catch.hpp"

using distrib::AsynchronousParallel;
using distrib::BulkSynchronousParallel;
using distrib::ConsistencyKind;
using distrib::StaleSynchronousParallel;

TEST_CASE("Consistency: short names and canonical texts", "[ps]") {
  CHECK(BulkSynchronousParallel::mode == "sync");
  CHECK(StaleSynchronousParallel::mode == "ssp");
  CHECK(AsynchronousParallel::mode == "async");
  CHECK(BulkSynchronousParallel{}.describe() == "bulk_synchronous_parallel");
  CHECK(BulkSynchronousParallel{.replicas_to_aggregate = 2}.describe() ==
        "bulk_synchronous_parallel replicas_to_aggregate=2");
  CHECK(StaleSynchronousParallel{}.describe() == "stale_synchronous_parallel staleness=3");
  CHECK(StaleSynchronousParallel{.staleness = 0}.describe() == "stale_synchronous_parallel staleness=0");
  CHECK(AsynchronousParallel{}.describe() == "asynchronous_parallel");
  CHECK(AsynchronousParallel{.barrier_every = 100}.describe() == "asynchronous_parallel barrier_every=100");
}

TEST_CASE("Consistency: values", "[ps]") {
  STATIC_REQUIRE(BulkSynchronousParallel::synchronous);
  STATIC_REQUIRE_FALSE(StaleSynchronousParallel::synchronous);
  STATIC_REQUIRE_FALSE(AsynchronousParallel::synchronous);
  STATIC_REQUIRE(AsynchronousParallel::staleness == UINT64_MAX);
  CHECK(StaleSynchronousParallel{.staleness = 2} == StaleSynchronousParallel{2});
  CHECK(StaleSynchronousParallel{.staleness = 2} != StaleSynchronousParallel{});
  CHECK(AsynchronousParallel{.barrier_every = 2} != AsynchronousParallel{});
}

TEST_CASE("ConsistencyKind: the bound after a contribution", "[ps]") {
  const ConsistencyKind no_barriers = distrib::consistency_kind(StaleSynchronousParallel{2});
  for (const unsigned made : {0U, 1U, 4U}) CHECK(no_barriers.bound_after(made) == 2);
  const ConsistencyKind barriers = distrib::consistency_kind(AsynchronousParallel{.barrier_every = 4});
  for (const unsigned made : {0U, 4U, 8U}) CHECK(barriers.bound_after(made) == 0);
  for (const unsigned made : {1U, 3U, 5U}) CHECK(barriers.bound_after(made) == UINT64_MAX);
}

TEST_CASE("parse_consistency: what a shard has to know of each", "[ps]") {
  const auto kind = [](const auto& consistency) { return distrib::parse_consistency(consistency.describe()); };
  CHECK(kind(BulkSynchronousParallel{}) == ConsistencyKind{.synchronous = true, .staleness = 0});
  CHECK(kind(AsynchronousParallel{}) == ConsistencyKind{.synchronous = false, .staleness = UINT64_MAX});
  CHECK(kind(AsynchronousParallel{.barrier_every = 7}) ==
        ConsistencyKind{.synchronous = false, .staleness = UINT64_MAX, .barrier_every = 7});
  for (const std::uint64_t staleness : {std::uint64_t{0}, std::uint64_t{3}, UINT64_MAX})
    CHECK(kind(StaleSynchronousParallel{staleness}) == ConsistencyKind{.synchronous = false, .staleness = staleness});
  for (const std::uint32_t replicas : {1U, 7U, UINT32_MAX}) {
    const BulkSynchronousParallel some{.replicas_to_aggregate = replicas};
    CHECK(kind(some) == ConsistencyKind{.synchronous = true, .staleness = 0, .replicas_to_aggregate = replicas});
    CHECK(kind(some) == distrib::consistency_kind(some));
    CHECK(some != BulkSynchronousParallel{});
  }
  CHECK(kind(BulkSynchronousParallel{}) == distrib::consistency_kind(BulkSynchronousParallel{}));
  CHECK(kind(AsynchronousParallel{}) == distrib::consistency_kind(AsynchronousParallel{}));
  CHECK(kind(StaleSynchronousParallel{2}) == distrib::consistency_kind(StaleSynchronousParallel{2}));

  for (const char* text : {"",
                           "bulk",
                           "bulk_synchronous_parallel ",
                           "asynchronous_parallel staleness=3",
                           "asynchronous_parallel barrier_every=0",
                           "asynchronous_parallel barrier_every=07",
                           "stale_synchronous_parallel staleness=1 barrier_every=2",
                           "stale_synchronous_parallel",
                           "stale_synchronous_parallel staleness=",
                           "stale_synchronous_parallel staleness=-1",
                           "stale_synchronous_parallel staleness=03",
                           "stale_synchronous_parallel staleness=18446744073709551616",
                           "staleness=3",
                           "3",
                           "=",
                           "bulk_synchronous_parallel staleness=3",
                           "bulk_synchronous_parallel replicas_to_aggregate=0",
                           "bulk_synchronous_parallel replicas_to_aggregate=4294967298",
                           "bulk_synchronous_parallel replicas_to_aggregate=02",
                           "replicas_to_aggregate=2"}) {
    CAPTURE(text);
    CHECK_FALSE(distrib::parse_consistency(text));
  }
}
