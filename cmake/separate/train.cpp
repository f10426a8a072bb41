// SPDX-License-Identifier: Apache-2.0
// What depends on no model, compiled once: see ../DistribSeparate.cmake.
#include <distrib/ps/async_worker_core.hpp>
#include <distrib/ps/sync_worker_core.hpp>
#include <distrib/train/detail/cluster_job_shell.hpp>
#include <distrib/train/detail/local_job_shell.hpp>

namespace distrib {
inline namespace v0 {

template auto make_local_job<SyncWorkerCore>(const Job&, const ShardKind&, std::span<const Cut>, Contribute,
                                             LocalJobEvents, IoPool*, std::vector<SharedBuffer>)
    -> std::unique_ptr<LocalJob>;
template auto make_local_job<AsyncWorkerCore>(const Job&, const ShardKind&, std::span<const Cut>, Contribute,
                                              LocalJobEvents, IoPool*, std::vector<SharedBuffer>)
    -> std::unique_ptr<LocalJob>;
template auto make_cluster_job<SyncWorkerCore>(const Job&, Rank, std::vector<Address>, WorkerClientOptions, CutSettings,
                                               ClusterJobEvents) -> std::unique_ptr<ClusterJob>;
template auto make_cluster_job<AsyncWorkerCore>(const Job&, Rank, std::vector<Address>, WorkerClientOptions,
                                                CutSettings, ClusterJobEvents) -> std::unique_ptr<ClusterJob>;

}  // namespace v0
}  // namespace distrib
