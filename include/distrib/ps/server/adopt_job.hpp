// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/ps/server/shard_identity.hpp>
#include <distrib/ps/server/shard_options.hpp>
#include <distrib/ps/wire/messages.hpp>

#include <optional>

namespace distrib {
inline namespace v0 {

/// A job that a shard can serve, and what its core is made of.
struct AdoptedJob {
  Job job;
  ShardKind kind;
};

/// Returns the job whose text and arithmetic a worker sent to the shard `identity`, which may use as much memory as
/// `options` say.
/// `known`: the job that the shard has already; empty: none.
///
/// Errors: `ps_errc::bad_job` if the text is not a job, or if the hash is not the text's hash; `job_mismatch` if the
/// shard has a job already, or the cluster has other numbers of tasks or ranks than the job; `unknown_updater`;
/// `too_large`. The result is unspecified then.
[[nodiscard]] DISTRIB_DECL auto adopt_job(const JoinRequest& request, const std::optional<Job>& known,
                                          const ShardIdentity& identity, const ShardKinds& kinds,
                                          const ShardOptions& options, Error& error) -> AdoptedJob;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/impl/adopt_job.ipp>
#endif
