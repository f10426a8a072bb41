// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/make_local_job.hpp>

#include <distrib/ps/protocol/async_worker_core.hpp>
#include <distrib/ps/protocol/sync_worker_core.hpp>
#include <distrib/train/detail/local_job_shell.hpp>

#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto make_local_job(const Job& job, const ShardKind& shards, std::span<const Cut> restored,
                                 Contribute contribute, LocalJobCallbacks callbacks, IoPool* pool,
                                 std::vector<SharedBuffer> initial_values) -> std::unique_ptr<LocalJob> {
  const auto make = [&]<class WorkerCore>() -> std::unique_ptr<LocalJob> {
    return std::make_unique<detail::LocalJobShell<WorkerCore>>(job, shards, restored, std::move(contribute),
                                                               std::move(callbacks), pool, std::move(initial_values));
  };
  return job.consistency.is_synchronous() ? make.template operator()<SyncWorkerCore>()
                                          : make.template operator()<AsyncWorkerCore>();
}

}  // namespace v0
}  // namespace distrib
