// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/consistency.hpp>

#include "support/catch.hpp"

#include <concepts>

using distrib::AsynchronousParallel;
using distrib::BulkSynchronousParallel;
using distrib::Consistency;
using distrib::StaleSynchronousParallel;

namespace {

/// What each function returns, for each of the three modes with and without its setting.
struct ConsistencyRow {
  Consistency consistency;
  const char* mode;
  const char* text;
  bool is_synchronous;
  std::uint32_t of_5_ranks;  // contributions that complete a step of 5 ranks
  std::uint32_t backups_of_5;
  bool of_5_can_have_replicas;
};
const ConsistencyRow consistency_rows[] = {
    {BulkSynchronousParallel{}, "sync", "bulk_synchronous_parallel", true, 5, 0, true},
    {BulkSynchronousParallel{.replicas_to_aggregate = 2}, "sync", "bulk_synchronous_parallel replicas_to_aggregate=2",
     true, 2, 3, false},
    {BulkSynchronousParallel{.replicas_to_aggregate = 5}, "sync", "bulk_synchronous_parallel replicas_to_aggregate=5",
     true, 5, 0, true},  // no backup workers
    {BulkSynchronousParallel{.replicas_to_aggregate = 7}, "sync", "bulk_synchronous_parallel replicas_to_aggregate=7",
     true, 7, 0, false},  // more than the ranks of a job of 5
    {BulkSynchronousParallel{.replicas_to_aggregate = UINT32_MAX}, "sync",
     "bulk_synchronous_parallel replicas_to_aggregate=4294967295", true, UINT32_MAX, 0, false},
    {StaleSynchronousParallel{}, "ssp", "stale_synchronous_parallel staleness=3", false, 1, 0, false},
    {StaleSynchronousParallel{.staleness = 0}, "ssp", "stale_synchronous_parallel staleness=0", false, 1, 0, false},
    {StaleSynchronousParallel{.staleness = UINT64_MAX}, "ssp",
     "stale_synchronous_parallel staleness=18446744073709551615", false, 1, 0, false},
    {AsynchronousParallel{}, "async", "asynchronous_parallel", false, 1, 0, false},
    {AsynchronousParallel{.barrier_every = 100}, "async", "asynchronous_parallel barrier_every=100", false, 1, 0,
     false},
};

}  // namespace

TEST_CASE("Consistency: the answers of each mode, and reading back its text", "[ps]") {
  for (const ConsistencyRow& row : consistency_rows) {
    CAPTURE(row.text);
    CHECK(row.consistency.mode() == row.mode);
    CHECK(row.consistency.is_synchronous() == row.is_synchronous);
    CHECK(row.consistency.replicas_to_aggregate(5) == row.of_5_ranks);
    CHECK(row.consistency.backup_workers(5) == row.backups_of_5);
    CHECK(row.consistency.can_have_replicas(5) == row.of_5_can_have_replicas);
    CHECK(row.consistency.describe() == row.text);
    CHECK(distrib::detail::parse_consistency(row.text) == row.consistency);
    for (const ConsistencyRow& other : consistency_rows)
      CHECK((row.consistency == other.consistency) == (&row == &other));
  }
}

TEST_CASE("Consistency: is one of three modes; by default every rank counts", "[ps]") {
  CHECK(Consistency{} == BulkSynchronousParallel{});
  CHECK(StaleSynchronousParallel{} == StaleSynchronousParallel{.staleness = 3});
  STATIC_REQUIRE(std::convertible_to<StaleSynchronousParallel, Consistency>);
  STATIC_REQUIRE_FALSE(std::convertible_to<const char*, Consistency>);
  STATIC_REQUIRE_FALSE(std::convertible_to<int, Consistency>);
}

TEST_CASE("Consistency: the bound after each contribution", "[ps]") {
  const Consistency stale = StaleSynchronousParallel{2};
  for (const unsigned made : {0U, 1U, 4U}) CHECK(stale.bound_after(made) == 2);
  for (const unsigned made : {0U, 1U, 4U}) CHECK(Consistency{AsynchronousParallel{}}.bound_after(made) == UINT64_MAX);
  for (const unsigned made : {0U, 1U, 4U}) CHECK(Consistency{}.bound_after(made) == 0);
  const Consistency barriers = AsynchronousParallel{.barrier_every = 4};
  for (const unsigned made : {0U, 4U, 8U}) CHECK(barriers.bound_after(made) == 0);
  for (const unsigned made : {1U, 3U, 5U}) CHECK(barriers.bound_after(made) == UINT64_MAX);
}

TEST_CASE("parse_consistency: refuses any other text", "[ps]") {
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
    CHECK_FALSE(distrib::detail::parse_consistency(text));
  }
}
