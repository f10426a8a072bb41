// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/server/cluster_mismatch.hpp>

#include <distrib/ps/job/error.hpp>

#include "support/catch.hpp"

using distrib::cluster_mismatch;
using distrib::Job;
using distrib::ShardIdentity;

TEST_CASE("cluster_mismatch: names the number that differs, or nothing", "[ps]") {
  Job job;
  job.tasks = 2;
  job.ranks = 3;
  job.shards_per_task = 2;
  CHECK_FALSE(cluster_mismatch(job, {.shard = 1, .tasks = 2, .ranks = 3}));
  struct Row {
    ShardIdentity identity;
    const char* where;
  };
  const Row rows[] = {
      {{.tasks = 3, .ranks = 3}, "the job has 2 parameter servers, this cluster 3"},
      {{.tasks = 2, .ranks = 4}, "the job has 3 workers, this cluster 4"},
      {{.shard = 2, .tasks = 2, .ranks = 3},
       "the job has 2 shards of a task, but number 2 (counted from 0) was asked for"},
  };
  for (const Row& row : rows) {
    const distrib::Error error = cluster_mismatch(job, row.identity);
    CHECK(error.code == distrib::ps_errc::job_mismatch);
    CHECK(error.where == row.where);
  }
  job.replicas = 2;
  CHECK_FALSE(cluster_mismatch(job, {.shard = 3, .tasks = 2, .ranks = 3}));
  CHECK(cluster_mismatch(job, {.shard = 4, .tasks = 2, .ranks = 3}).where ==
        "the job has 4 shards of a task, but number 4 (counted from 0) was asked for");
}
