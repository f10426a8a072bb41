// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/wire/shard_status.hpp>

#include <chrono>
#include <string>

/// Returns the status of a shard in the middle of a job: 12 workers; rank 0 is here, rank 11 is away.
inline auto running_shard() -> distrib::ShardStatus {
  using namespace std::chrono_literals;
  distrib::ShardStatus shard;
  shard.task = 1;
  shard.shard = 2;
  shard.shards = 3;
  shard.tasks = 2;
  shard.ranks = 12;
  shard.uptime = 61'500ms;
  shard.job_hash = std::string(64, 'a');
  shard.consistency = "bulk_synchronous_parallel";
  shard.arithmetic = "distrib";
  shard.total_steps = 6000;
  shard.open = true;
  shard.step = 120;
  shard.newest_cut = 100;
  shard.contributions = 1440;
  shard.staleness = 1;
  shard.value_bytes = 1'234'567;
  shard.slot_bytes = 512;
  shard.variables = 1002;
  shard.pushes = 1441;
  shard.pushed_bytes = 2'000'000'000;
  shard.pulls = 1450;
  shard.pulled_bytes = 999;
  shard.parked = 3;
  for (int i = 0; i < 99; ++i) shard.push_times.add(16us);
  shard.push_times.add(2ms);
  shard.of_ranks = {{0, true, 121}, {11, false, 120}};
  shard.of_variables = {{"dense/kernel", 1'000'000}, {"b", 64}};
  return shard;
}
