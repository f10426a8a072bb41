// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/worker/ask_status.hpp>

namespace distrib {
inline namespace v0 {

/// What ails the task of these flags, asked by another process in the same container: a program with a flag for it is
/// its own health check, where an image has neither shell nor `distrib status`. Empty when nothing does.
///
/// A ps task is well when its shards answer, and have read their cuts if they know the job: until then
/// `std::errc::resource_unavailable_try_again`, else as `ask_shard`. It is asked at its address in the cluster, or at
/// this machine's loopback when nobody answers there: its name may not be known yet when it is well. Other tasks listen
/// to nobody and are as well as their process. Waits as `ask_status`, twice.
[[nodiscard]] DISTRIB_DECL auto probe(const ClusterFlags& flags, const AskOptions& how = {}) -> Error;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/worker/impl/probe.ipp>
#endif
