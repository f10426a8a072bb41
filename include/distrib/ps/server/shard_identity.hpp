// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// The shard that a service serves, and the size of its cluster. A job must have the same numbers of tasks and ranks.
struct ShardIdentity {
  std::uint32_t task = 0;  ///< The ps task.
  std::uint32_t shard = 0;  ///< The number of the service on this task, see `Job::service_of`.
  std::uint32_t tasks = 1;   ///< ps tasks of the cluster.
  std::uint32_t ranks = 1;   ///< Workers of the cluster, the chief included; with `processes` ranks of the job.
  /// True if the directory has the checkpoint of a job's last step at the start: if no worker connects, the task is
  /// done.
  bool finished = false;
  std::uint64_t random = 1;  ///< Names an export log, if this shard begins it. Not 0.
  std::uint64_t nonce = 0;  ///< Of the process, see `ShardStatus::nonce`.
  /// Not 0: ranks are dealt (`RankDealer`), and so many processes may serve them. 0: each worker is one rank.
  std::uint32_t processes = 0;
};

}  // namespace v0
}  // namespace distrib
