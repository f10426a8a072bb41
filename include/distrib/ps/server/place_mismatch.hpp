// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/server/shard_clock.hpp>

#include <cstdint>
#include <string>

namespace distrib {
inline namespace v0 {

/// Why a shard at this place cannot serve the job: `ps_errc::job_mismatch` and the number in which cluster and job
/// differ. No error: it can.
[[nodiscard]] inline auto place_mismatch(const Job& job, const ShardPlace& place) -> Error {
  const auto differs = [](const char* what, std::uint32_t in_job, std::uint32_t in_cluster) -> Error {
    return {ps_errc::job_mismatch,
            "the job has " + std::to_string(in_job) + " " + what + ", this cluster " + std::to_string(in_cluster)};
  };
  if (job.tasks != place.tasks) return differs("parameter servers", job.tasks, place.tasks);
  if (job.ranks != place.ranks) return differs("workers", job.ranks, place.ranks);
  const std::uint32_t of_task = job.shards_per_task * job.replicas;
  if (of_task <= place.shard) return differs("shards of a task", of_task, place.shard + 1);
  return {};
}

}  // namespace v0
}  // namespace distrib
