// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/replies.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The rows that a worker wants from one shard with a step's values.
struct WantedRows {
  SharedBuffer keys;              ///< See `append_pull_rows`. Null: nothing is wanted, or there are no tables.
  std::size_t answer_bytes = 0;   ///< Of the values that come for it, dense block and rows.
};

// What the shell of a worker must do after an event, in the order told. A core calls `out(action)` for each, so a shell
// is a set of overloads; it must not call the core back from there.

/// What a worker sends to a shard; with replicas `shard` is the number of one of them, see `Job::num_replicas`.
struct SendJoin {
  std::uint32_t shard = 0;
};
struct SendPull {
  std::uint32_t shard = 0;
  Step step = 0;
  WantedRows rows = {};
};
struct SendPush {
  std::uint32_t shard = 0;
  Contribution contribution;
  bool pull_follows = false;  ///< A SendPull to this shard comes with it, and only its answer is waited for.
};
struct SendRestore {
  std::uint32_t shard = 0;
  Step cut = 0;
  std::uint64_t lineage = 0;  ///< Of the cut; 0: that of the shard's own history.
};
/// Cannot be served, but another replica of its shard is ahead: a replica takes the state of that one.
struct SendCatchUp {
  std::uint32_t shard = 0;
  Step done = 0;  ///< Where it is, as far as the worker knows.
};
struct SendSave {
  std::uint32_t shard = 0;
};
struct SendGoodbye {
  std::uint32_t shard = 0;
};
struct SendLeave {
  std::uint32_t shard = 0;
};

/// Find out which rows the contribution of `step` needs and tell them with `prepared`, one a shard. Only of jobs with
/// tables; otherwise those are told with the contribution before it.
struct Prepare {
  Step step = 0;
};

/// Make the contribution of `step` from these values, one block a shard, and give it to the core with `computed`.
/// `ticket` comes back with it: a result that was overtaken by a restore is dropped by its ticket.
struct Compute {
  Step step = 0;
  std::uint64_t ticket = 0;
  std::vector<SharedBuffer> values;
};

/// Two replicas of this shard gave different values of one step: a defect of memory, of hardware or of this library. The
/// job cannot go on.
struct ReplicasDiffer {
  std::uint32_t shard = 0;
  Step step = 0;
};

/// Shards are of different histories, and this one is of an older version, which cannot tell its cuts apart. The job
/// cannot go on.
struct TellsNoHistory {
  std::uint32_t shard = 0;
};

/// The worker is done: by goodbye after the last step, or by leave when it was asked to stop.
struct WorkerDone {
  bool left = false;
  std::vector<SharedBuffer> result = {};  ///< The values at the end, one block a shard; only when `wants_result`.
};

/// How a worker behaves beyond what the job says.
struct WorkerOptions {
  /// Contributions kept to be sent again to a shard that comes back, in bytes. 0: none are kept, for shards that cannot
  /// be lost without the worker (local mode).
  std::size_t replay_budget_bytes = std::size_t{256} << 20;
  /// Contribution 0, one block a shard as `set_initial_values` makes them: sent to each shard that waits for its custom
  /// initial values, whenever it begins anew. Empty: the job has none.
  std::vector<SharedBuffer> initial_values = {};
  /// Whether the worker is done only when it has the values at the end of the job, of all ranks.
  bool wants_result = false;
};

}  // namespace v0
}  // namespace distrib
