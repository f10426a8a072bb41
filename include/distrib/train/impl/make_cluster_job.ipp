// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/make_cluster_job.hpp>

#include <distrib/ps/protocol/async_worker_core.hpp>
#include <distrib/ps/protocol/sync_worker_core.hpp>
#include <distrib/train/detail/cluster_job_shell.hpp>

#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto make_cluster_job(const Job& job, Rank rank, std::vector<Address> servers, WorkerClientOptions options,
                                   CutSettings cuts, ClusterJobCallbacks callbacks) -> std::unique_ptr<ClusterJob> {
  const auto make = [&]<class WorkerCore>() -> std::unique_ptr<ClusterJob> {
    return std::make_unique<detail::ClusterJobShell<WorkerCore>>(job, rank, std::move(servers), std::move(options),
                                                                 std::move(cuts), std::move(callbacks));
  };
  return job.consistency.is_synchronous() ? make.template operator()<SyncWorkerCore>()
                                          : make.template operator()<AsyncWorkerCore>();
}

}  // namespace v0
}  // namespace distrib
