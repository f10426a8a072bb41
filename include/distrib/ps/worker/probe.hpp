// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/worker/ask_status.hpp>

namespace distrib {
inline namespace v0 {

/// Checks the health of the task of these flags, from another process in the same container. So a program with a flag
/// for this is its own health check, where an image has neither a shell nor `distrib status`. Returns no error if the
/// task is healthy.
///
/// A ps task is healthy if its shards answer, and have read their cuts if they know the job. Asks the task at its
/// address in the cluster, and if it does not answer there, at this machine's loopback address, because its name may
/// not resolve yet. A task of another job does not listen: the result is no error.
///
/// Errors: returns `std::errc::resource_unavailable_try_again` while a shard reads its cuts; the error of `ask_status`
/// at the address in the cluster if no address answers; or an error of `Address::parse`. Throws `std::out_of_range` if
/// the flags do not have this ps task.
///
/// Blocks at most twice as long as `ask_status`.
[[nodiscard]] DISTRIB_DECL auto probe(const ClusterFlags& flags, const AskOptions& how = {}) -> Error;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/worker/impl/probe.ipp>
#endif
