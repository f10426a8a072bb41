// SPDX-License-Identifier: Apache-2.0
// What depends on no model, compiled once: see ../DistribSeparate.cmake.
#include <distrib/train/detail/cluster_job_shell.hpp>
#include <distrib/train/detail/local_job_shell.hpp>

namespace distrib {
inline namespace v0 {

template auto make_local_job(const Job&, const ShardKind&, std::span<const Cut>, Contribute, LocalJobCallbacks, IoPool*,
                             std::vector<SharedBuffer>) -> std::unique_ptr<LocalJob>;
template auto make_cluster_job(const Job&, Rank, std::vector<Address>, WorkerClientOptions, CutSettings,
                               ClusterJobCallbacks) -> std::unique_ptr<ClusterJob>;

}  // namespace v0
}  // namespace distrib
