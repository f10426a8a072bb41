// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/async_worker_core.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL AsyncWorkerCore::AsyncWorkerCore(const Job& job, Rank rank, WorkerOptions options)
    : rank_{rank},
      last_{job.steps_of(rank)},
      shards_(job.shards()),
      counted_{job.shards()},
      durable_{job.shards()},
      buffer_{options.replay_budget_bytes, std::move(options.initial_values)},
      wants_result_{options.wants_result},
      on_demand_{options.on_demand},
      rows_{job} {}

}  // namespace v0
}  // namespace distrib
