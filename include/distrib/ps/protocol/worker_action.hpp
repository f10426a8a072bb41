// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/replies.hpp>

#include <cstddef>
#include <cstdint>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The rows that a worker wants from one shard together with the values of a step.
struct WantedRows {
  SharedBuffer keys;  ///< See `append_pull_rows`. Null: no rows are wanted, or there are no tables.
  std::size_t answer_bytes = 0;  ///< Bytes of the answer: dense block and rows.
};

// The actions of a worker's core: what its shell must do after an event, in the order of the calls. A core calls
// `out(action)` for each, so a shell is a set of overloads. It must not call the core from there.

/// What a worker sends to a shard. With replicas `shard` is the number of a replica, see `Job::num_replicas`.
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
  bool pull_follows = false;  ///< A `SendPull` to this shard follows, and the worker waits only for its answer.
};
struct SendRestore {
  std::uint32_t shard = 0;
  Step cut = 0;
  std::uint64_t lineage = 0;  ///< `Lineage::digest` of the cut; 0: the cut of the shard's present history.
};
/// The replica `shard` shall get the state of the other replica of its shard: workers can no longer send it what it
/// lacks.
struct SendCatchUp {
  std::uint32_t shard = 0;
  Step done = 0;  ///< The step of the replica, as far as the worker knows.
};
/// The shard shall make a cut soon.
struct SendSave {
  std::uint32_t shard = 0;
};
/// The rank is done with this shard, which need not wait for it any more.
struct SendGoodbye {
  std::uint32_t shard = 0;
};
/// This process ends, but the rank is not done with this shard: it continues another time, or a replica of the shard
/// still lacks the last cut.
struct SendLeave {
  std::uint32_t shard = 0;
};

/// Find out which rows the contribution of `step` needs, and call `prepared` with one entry per shard. Only in jobs
/// with tables, and only if the last `computed` did not pass these rows.
struct Prepare {
  Step step = 0;
};

/// Make the contribution of `step` from `values`, one block per shard, and call `computed` with it and `ticket`. The
/// core drops a result with an old ticket, for example after a Restore.
struct Compute {
  Step step = 0;
  std::uint64_t ticket = 0;
  std::vector<SharedBuffer> values;
  SharedRankEntry entry = nullptr;  ///< The ranks that make the step. Null: the job's ranks never change.
  std::uint64_t number = 0;  ///< With an `entry`: the number of the contribution, see `RankLog::number_of`.
};

/// Two replicas of this shard returned different values of one step: a defect of memory, of a processor or of this
/// library. The job cannot continue.
struct ReplicasDiffer {
  std::uint32_t shard = 0;
  Step step = 0;
};

/// Shards are of different histories, and this shard runs an older version, which does not report the histories of its
/// cuts. The job cannot continue.
struct TellsNoHistory {
  std::uint32_t shard = 0;
};

/// The worker is done: after the last step, or because it was asked to stop (`left`).
struct WorkerDone {
  bool left = false;
  /// True, with `left`: the rank makes no later step, as far as is known, and everything that it made is in a cut of
  /// all shards. Another process may be started for it if it is wanted again.
  bool retired = false;
  std::vector<SharedBuffer> result = {};  ///< The values at the end, one block per shard; empty unless `wants_result`.
};

/// Settings of a worker that are not part of the job.
struct WorkerOptions {
  /// Most bytes of contributions that are kept, to be sent again to a shard that comes back; one contribution is kept
  /// even if it is larger. 0: only the newest contribution is kept, for shards that cannot be lost without the worker
  /// (local mode).
  std::size_t replay_budget_bytes = std::size_t{256} << 20;
  /// Contribution 0, one block per shard as `set_initial_values` makes them. Sent to each shard that waits for its
  /// custom initial values, whenever the shard starts at step 0. Empty: the job has none.
  std::vector<SharedBuffer> initial_values = {};
  /// True: the worker is done only when it has the values at the end of the job, made of the contributions of all
  /// ranks.
  bool wants_result = false;
  /// In a job with dealt ranks: the index of the process that serves the rank, plus 1. 0: the worker is one rank.
  std::uint32_t process = 0;
  /// The worker serves the block of ranks of this level whose first rank it is, see `RankBlock`: a contribution is the
  /// sum of theirs, made with `sum_blocks` in the tree. Only in a job that adds in a tree.
  std::uint32_t level = 0;
  /// True: values are pulled only when the owner asks (`want`), and the worker ends only when it is told (`finish`).
  /// For contributions that are no function of step and rank, in asynchronous jobs with `open_end`.
  bool on_demand = false;
};

}  // namespace v0
}  // namespace distrib
