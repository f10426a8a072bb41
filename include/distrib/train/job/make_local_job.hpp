// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/ps/job/erased_keys.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/train/job/local_job.hpp>

#include <memory>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Makes the shards and workers of `job` in this process; `LocalJob::next` starts them. `shards`: the updaters of the
/// job. `restored`: the cuts to continue from, one per shard; empty: the job starts from its initial values. `pool`:
/// the threads that compute contributions; it must outlive the job. Null: all is done on the owner's thread.
/// `initial_values`: see `WorkerOptions`. `changes`: in a job whose ranks change, all entries of its log but the first.
/// `erased`: in a job whose keys may be erased, all entries of its log.
[[nodiscard]] DISTRIB_DECL auto make_local_job(const Job& job, const ShardKind& shards, std::span<const Cut> restored,
                                               Contribute contribute, LocalJobCallbacks callbacks, IoPool* pool,
                                               std::vector<SharedBuffer> initial_values = {},
                                               ComputeOn compute_on = ComputeOn::pool,
                                               std::span<const RankEntry> changes = {},
                                               std::span<const ErasedKeys> erased = {}) -> std::unique_ptr<LocalJob>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/job/impl/make_local_job.ipp>
#endif
