// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/sync_worker_core.hpp>

#include <distrib/ps/job/lineage.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL SyncWorkerCore::SyncWorkerCore(const Job& job, Rank rank, WorkerOptions options)
    : rank_{rank},
      level_{options.level},
      total_steps_{job.total_steps},
      replicas_{job.shards(), job.num_replicas()},
      buffer_{options.replay_budget_bytes, std::move(options.initial_values)},
      window_{contribution_window(job)},
      wants_result_{options.wants_result},
      has_backups_{job.consistency.replicas_to_aggregate(job.ranks) < job.ranks},
      aligns_{!job.replayable && !has_backups_},
      only_settings_{has_backups_ ? 0 : Lineage{}.continued(0, settings_hash(job)).digest()},
      rows_{job},
      heard_(job.num_replicas()) {
  if (job.most_ranks != 0) log_.emplace(job.ranks);
}

DISTRIB_DECL void SyncWorkerCore::forget() {
  t_.reset();
  computing_ = false;
  ++ticket_;
  replicas_.forget();
}

}  // namespace v0
}  // namespace distrib
