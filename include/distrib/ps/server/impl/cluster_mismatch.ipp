// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/server/cluster_mismatch.hpp>

#include <distrib/ps/job/error.hpp>

#include <cstdint>
#include <string>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto cluster_mismatch(const Job& job, const ShardIdentity& identity) -> Error {
  const auto differs = [](const char* what, std::uint32_t in_job, std::uint32_t in_cluster) -> Error {
    return {ps_errc::job_mismatch,
            "the job has " + std::to_string(in_job) + " " + what + ", this cluster " + std::to_string(in_cluster)};
  };
  if (job.tasks != identity.tasks) return differs("parameter servers", job.tasks, identity.tasks);
  if (job.ranks != identity.ranks) return differs("workers", job.ranks, identity.ranks);
  const std::uint32_t of_task = job.shards_per_task * job.replicas;
  if (of_task > identity.shard) return {};
  return {ps_errc::job_mismatch, "the job has " + std::to_string(of_task) + " shards of a task, but number " +
                                     std::to_string(identity.shard) + " (counted from 0) was asked for"};
}

}  // namespace v0
}  // namespace distrib
