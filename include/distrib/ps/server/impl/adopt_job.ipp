// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/server/adopt_job.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/parse_job.hpp>
#include <distrib/ps/server/cluster_mismatch.hpp>
#include <distrib/ps/store/shard_store.hpp>

#include <algorithm>
#include <cstdint>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto adopt_job(const JoinRequest& request, const std::optional<Job>& known, const ShardIdentity& identity,
                            const ShardKinds& kinds, const ShardOptions& options, Error& error) -> AdoptedJob {
  AdoptedJob adopted;
  error = {};
  if (to_hex(sha256(as_bytes(request.job_text))) != request.job_hash)
    error = {ps_errc::bad_job, "its text does not match its hash"};
  if (!error) adopted.job = parse_job(request.job_text, error);
  adopted.job.arithmetic = request.arithmetic;
  if (!error && known) error = {ps_errc::job_mismatch, job_difference(to_text(*known), request.job_text)};
  if (!error) error = cluster_mismatch(adopted.job, identity);
  if (!error) adopted.kind = kinds(adopted.job, error);
  if (error) return adopted;
  const std::uint64_t part = options.task_memory_bytes / (adopted.job.shards_per_task * adopted.job.replicas);
  adopted.kind.table_budget_bytes =
      table_budget(adopted.job, adopted.job.replica_at(identity.task, identity.shard) % adopted.job.shards(),
                   adopted.kind.updaters, std::min(options.memory_budget_bytes, part), error);
  return adopted;
}

}  // namespace v0
}  // namespace distrib
