// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/async_worker_core.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL AsyncWorkerCore::AsyncWorkerCore(const Job& job, Rank rank, WorkerOptions options)
    : rank_{rank},
      last_{job.most_ranks == 0 ? job.steps_of(rank) : end_of_job},
      shards_(job.shards()),
      counted_{job.shards()},
      durable_{job.shards()},
      buffer_{options.replay_budget_bytes, std::move(options.initial_values)},
      wants_result_{options.wants_result},
      on_demand_{options.on_demand},
      retires_{job.most_ranks != 0 && !options.wants_result && options.replay_budget_bytes != 0},
      rows_{job},
      total_steps_{job.total_steps},
      heard_(job.shards()) {
  if (job.most_ranks != 0) log_.emplace(job.ranks);
}

}  // namespace v0
}  // namespace distrib
