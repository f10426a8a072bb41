// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/job/export_settings.hpp>

#include "support/catch.hpp"

TEST_CASE("steps are repeatable in a synchronous job in which every rank counts, and that can be replayed", "[ps]") {
  distrib::Job job;
  job.ranks = 3;
  job.consistency = distrib::BulkSynchronousParallel{};
  CHECK(has_repeatable_steps(job));
  job.replayable = false;
  CHECK_FALSE(has_repeatable_steps(job));
  job.replayable = true;
  job.consistency = distrib::BulkSynchronousParallel{.replicas_to_aggregate = 2};
  CHECK_FALSE(has_repeatable_steps(job));
  job.consistency = distrib::BulkSynchronousParallel{.replicas_to_aggregate = 3};
  CHECK(has_repeatable_steps(job));
  job.consistency = distrib::AsynchronousParallel{};
  CHECK_FALSE(has_repeatable_steps(job));
  job.consistency = distrib::StaleSynchronousParallel{.staleness = 1};
  CHECK_FALSE(has_repeatable_steps(job));
}
