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

/// A job that a shard can serve, and how.
struct AdoptedJob {
  Job job;
  ShardKind kind;
};

/// The job whose text a worker brought to the shard `identity`, which may take as much memory as `options` say.
/// `known`: the job that the shard has already, if any. Fails with `ps_errc::bad_job` (also when the hash is another
/// text's), `job_mismatch` (there is another job, or it is not one for this shard), `unknown_updater`, `too_large`.
[[nodiscard]] DISTRIB_DECL auto adopt_job(const JoinRequest& request, const std::optional<Job>& known,
                                          const ShardIdentity& identity, const ShardKinds& kinds,
                                          const ShardOptions& options, Error& error) -> AdoptedJob;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/impl/adopt_job.ipp>
#endif
