// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/lineage.hpp>
#include <distrib/ps/job/rank_block.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/erase_log_core.hpp>
#include <distrib/ps/protocol/rank_log_core.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/shard_action.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace distrib {
inline namespace v0 {

class ShardStore;

/// Receives the actions of a shard's core, in the order to be performed in. No member may call the core.
class ShardSink {
 public:
  virtual ~ShardSink() = default;
  virtual void operator()(JoinedReply reply) = 0;
  virtual void operator()(NoticeReply reply) = 0;
  virtual void operator()(ValuesReply reply) = 0;
  virtual void operator()(GoneReply reply) = 0;
  virtual void operator()(PushedReply reply) = 0;
  virtual void operator()(RefusedReply reply) = 0;
  virtual void operator()(CopyCut action) = 0;
  virtual void operator()(SaveCut action) = 0;
  virtual void operator()(LoadCut action) = 0;
  virtual void operator()(DropCut action) = 0;
  virtual void operator()(SendState action) = 0;
  virtual void operator()(ShardDone action) = 0;
};

/// The core of a shard behind one type, for both kinds of consistency: for a server, which learns the consistency only
/// when it runs. Has the members of `SyncShardCore` and `AsyncShardCore`, with the same meaning.
class AnyShard {
 public:
  virtual ~AnyShard() = default;
  virtual void join(Peer peer, RankBlock ranks, ShardSink& out) = 0;  ///< Asynchronous: a block of one.
  virtual void disconnect(Peer peer, ShardSink& out) = 0;
  virtual void push(Peer peer, Contribution contribution, ShardSink& out) = 0;
  virtual void pull(Peer peer, Step step, ShardSink& out, PullRows rows) = 0;
  /// Asynchronous: does nothing.
  virtual void restore(Peer peer, Step cut, ShardSink& out, std::uint64_t lineage) = 0;
  virtual void save(ShardSink& out) = 0;
  virtual void save(Peer peer, ShardSink& out) = 0;  ///< Synchronous: the same as `save(out)`.
  virtual void goodbye(Peer peer, ShardSink& out) = 0;
  virtual void vacate(Rank rank, ShardSink& out) = 0;  ///< Asynchronous: does nothing.
  virtual void copy_cut(std::size_t most_bytes, ShardSink& out) = 0;
  virtual void cut_saved(Step step, ShardSink& out) = 0;
  virtual void no_room(ShardSink& out) = 0;
  virtual void save_again(ShardSink& out) = 0;
  virtual void cut_loaded(const Cut& cut, ShardSink& out) = 0;  ///< Asynchronous: does nothing.
  virtual void cut_refused(ShardSink& out) = 0;  ///< Asynchronous: does nothing.
  /// Asynchronous: answers that there is no newer state.
  virtual void state(Peer peer, Step have, ShardSink& out) = 0;
  virtual void state_came(const Cut* cut, ShardSink& out) = 0;  ///< Asynchronous: does nothing.

  [[nodiscard]] virtual auto rank_log() -> RankLogCore* = 0;
  [[nodiscard]] virtual auto rank_step() const -> Step = 0;
  virtual void ranks_written(ShardSink& out) = 0;
  [[nodiscard]] virtual auto erase_log() -> EraseLogCore* = 0;  ///< Asynchronous: null.
  [[nodiscard]] virtual auto common_cut() const -> Step = 0;  ///< Asynchronous: 0, there is none.
  /// Synchronous: empty; `common_cut` and the log say which ranks are needed.
  [[nodiscard]] virtual auto take_needed_ranks() -> std::optional<std::vector<Rank>> = 0;

  [[nodiscard]] virtual auto step() const -> Step = 0;
  [[nodiscard]] virtual auto takes_sums() const -> bool = 0;  ///< Asynchronous: false.
  /// Synchronous: `named_progress()`, the same for all ranks.
  [[nodiscard]] virtual auto progress(Rank rank) const -> Progress = 0;
  [[nodiscard]] virtual auto stale() const -> std::uint64_t = 0;  ///< Asynchronous: 0.
  [[nodiscard]] virtual auto waiting_bytes() const -> std::uint64_t = 0;  ///< Asynchronous: 0, none waits.
  [[nodiscard]] virtual auto most_waiting_bytes() const -> std::uint64_t = 0;  ///< Asynchronous: 0.
  [[nodiscard]] virtual auto everything_saved() const -> bool = 0;  ///< Synchronous: false; see `has_last_cut`.
  [[nodiscard]] virtual auto saved() const -> Step = 0;  ///< Synchronous: 0; see `progress`.
  [[nodiscard]] virtual auto store() -> ShardStore& = 0;
  [[nodiscard]] virtual auto store() const -> const ShardStore& = 0;
};

/// What is needed to make the shards of a job, besides the job.
struct ShardKind {
  JobUpdaters updaters;
  /// Most bytes that the tables of a shard may use together.
  std::uint64_t table_budget_bytes = std::numeric_limits<std::uint64_t>::max();
};

/// A function that returns how the shards of a job are made. If it does not know one of the job's updaters, it sets
/// `error` to `ps_errc::unknown_updater`, with the updater's text as `where`.
using ShardKinds = std::function<ShardKind(const Job& job, Error& error)>;

/// Returns a `ShardKinds` that finds the updaters of a job with `find`; the tables have no limit of memory.
[[nodiscard]] DISTRIB_DECL auto shard_kinds(UpdaterFinder find) -> ShardKinds;

/// Makes shard number `shard` of a job. `newest`: the newest of its durable `cuts` (steps ascending), from which it
/// continues; null: it starts at step 0.
///
/// Errors: throws `std::system_error` as `ShardStore`, for example if the rows of `newest` need more memory than the
/// tables may take.
[[nodiscard]] DISTRIB_DECL auto make_shard(const Job& job, std::uint32_t shard, const ShardKind& kind,
                                           std::vector<DurableCut> cuts, const Cut* newest)
    -> std::unique_ptr<AnyShard>;

/// True if a durable cut of this shard, of its present history, has the job's last step; asynchronous: if it has every
/// rank's last contribution.
[[nodiscard]] DISTRIB_DECL auto has_last_cut(const AnyShard& shard, const Job& job) -> bool;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/impl/any_shard.ipp>
#endif
