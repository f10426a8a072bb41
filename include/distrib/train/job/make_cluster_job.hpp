// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/net/address.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/worker/worker_client_options.hpp>
#include <distrib/train/job/cluster_job.hpp>

#include <memory>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Makes the worker of this rank; `ClusterJob::next` connects it. `servers`: the address of each ps task, in the order
/// of their numbers. `cuts`: sent to the servers with the job. The observers in `options` are replaced: all events go
/// to `ClusterJobCallbacks::told`, and phases to `ClusterJobCallbacks::measured`. Throws as the constructor of
/// `WorkerClient`.
[[nodiscard]] DISTRIB_DECL auto make_cluster_job(const Job& job, Rank rank, std::vector<Address> servers,
                                                 WorkerClientOptions options, CutSettings cuts,
                                                 ClusterJobCallbacks callbacks) -> std::unique_ptr<ClusterJob>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/job/impl/make_cluster_job.ipp>
#endif
