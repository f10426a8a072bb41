// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/server/shard_identity.hpp>

namespace distrib {
inline namespace v0 {

/// Returns why this shard cannot serve the job: `ps_errc::job_mismatch` and the number in which job and cluster differ.
/// No error: it can.
[[nodiscard]] DISTRIB_DECL auto cluster_mismatch(const Job& job, const ShardIdentity& identity) -> Error;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/impl/cluster_mismatch.ipp>
#endif
