// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/async_shard_core.hpp>
#include <distrib/ps/protocol/sync_shard_core.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/shard_action.hpp>
#include <distrib/ps/store/shard_store.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What the core of a shard tells its shell.
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

/// The core of a shard behind one type, whatever its consistency: for a server, which learns that only when it runs.
/// The members are those of `SyncShardCore` and `AsyncShardCore`.
class AnyShard {
 public:
  virtual ~AnyShard() = default;
  virtual void join(Peer peer, Rank rank, ShardSink& out) = 0;
  virtual void disconnect(Peer peer, ShardSink& out) = 0;
  virtual void push(Peer peer, Contribution contribution, ShardSink& out) = 0;
  virtual void pull(Peer peer, Step step, ShardSink& out, PullRows rows) = 0;
  virtual void restore(Peer peer, Step cut, ShardSink& out) = 0;  ///< Asynchronous: nothing.
  virtual void save(ShardSink& out) = 0;
  virtual void save(Peer peer, ShardSink& out) = 0;               ///< Synchronous: whoever asks.
  virtual void goodbye(Peer peer, ShardSink& out) = 0;
  virtual void copy_cut(std::size_t most_bytes, ShardSink& out) = 0;
  virtual void cut_saved(Step step, ShardSink& out) = 0;
  virtual void no_room(ShardSink& out) = 0;
  virtual void save_again(ShardSink& out) = 0;
  virtual void cut_loaded(const Cut& cut, ShardSink& out) = 0;    ///< Asynchronous: nothing.
  virtual void cut_refused(ShardSink& out) = 0;                   ///< Asynchronous: nothing.
  virtual void state(Peer peer, Step have, ShardSink& out) = 0;   ///< Asynchronous: there is none.
  virtual void state_came(const Cut* cut, ShardSink& out) = 0;    ///< Asynchronous: nothing.

  [[nodiscard]] virtual auto step() const -> Step = 0;
  [[nodiscard]] virtual auto progress(Rank rank) const -> Progress = 0;
  [[nodiscard]] virtual auto stale() const -> std::uint64_t = 0;  ///< Asynchronous: 0.
  [[nodiscard]] virtual auto store() -> ShardStore& = 0;
  [[nodiscard]] virtual auto store() const -> const ShardStore& = 0;
};

namespace detail {

template <class Core>
class ShardOf final : public AnyShard {
 public:
  template <class... Args>
  explicit ShardOf(Args&&... args) : core_{std::forward<Args>(args)...} {}

  void join(Peer peer, Rank rank, ShardSink& out) override { core_.join(peer, rank, out); }
  void disconnect(Peer peer, ShardSink& out) override { core_.disconnect(peer, out); }
  void push(Peer peer, Contribution contribution, ShardSink& out) override {
    core_.push(peer, std::move(contribution), out);
  }
  void pull(Peer peer, Step step, ShardSink& out, PullRows rows) override {
    core_.pull(peer, step, out, std::move(rows));
  }
  void restore(Peer peer, Step cut, ShardSink& out) override {
    if constexpr (Core::is_synchronous) core_.restore(peer, cut, out);
  }
  void save(ShardSink& out) override { core_.save(out); }
  void save(Peer peer, ShardSink& out) override {
    if constexpr (Core::is_synchronous) core_.save(out);
    else core_.save(peer, out);
  }
  void goodbye(Peer peer, ShardSink& out) override { core_.goodbye(peer, out); }
  void copy_cut(std::size_t most_bytes, ShardSink& out) override { core_.copy_cut(most_bytes, out); }
  void cut_saved(Step step, ShardSink& out) override { core_.cut_saved(step, out); }
  void no_room(ShardSink& out) override { core_.no_room(out); }
  void save_again(ShardSink& out) override { core_.save_again(out); }
  void cut_loaded(const Cut& cut, ShardSink& out) override {
    if constexpr (Core::is_synchronous) core_.cut_loaded(cut, out);
  }
  void cut_refused(ShardSink& out) override {
    if constexpr (Core::is_synchronous) core_.cut_refused(out);
  }
  void state(Peer peer, Step have, ShardSink& out) override {
    if constexpr (Core::is_synchronous) core_.state(peer, have, out);
    else out(SendState{peer, 0});
  }
  void state_came(const Cut* cut, ShardSink& out) override {
    if constexpr (Core::is_synchronous) core_.state_came(cut, out);
  }
  [[nodiscard]] auto step() const -> Step override { return core_.step(); }
  [[nodiscard]] auto progress(Rank rank) const -> Progress override {
    if constexpr (Core::is_synchronous) return core_.progress();
    else return core_.progress(rank);
  }
  [[nodiscard]] auto stale() const -> std::uint64_t override {
    if constexpr (Core::is_synchronous) return core_.stale();
    else return 0;
  }
  [[nodiscard]] auto store() -> ShardStore& override { return core_.store(); }
  [[nodiscard]] auto store() const -> const ShardStore& override { return core_.store(); }

 private:
  Core core_;
};

}  // namespace detail

/// What makes the shards of one job, beside the job.
struct ShardKind {
  JobUpdaters updaters;
  std::uint64_t table_budget_bytes =
      std::numeric_limits<std::uint64_t>::max();  ///< What the tables of a shard may take.
};

/// Finds out how the shards of a job are made; `ps_errc::unknown_updater` when it does not know one of its updaters.
using ShardKinds = std::function<ShardKind(const Job& job, Error& error)>;

/// The kinds of shards that these updaters make possible.
template <class = void> [[nodiscard]] auto shard_kinds(UpdaterFinder find) -> ShardKinds {
  return [find = std::move(find)](const Job& job, Error& error) {
    ShardKind kind;
    kind.updaters = find_updaters(job, find, error);
    return kind;
  };
}

/// Shard number `shard` of a job, going on from `newest`, the newest of its durable `cuts`; null: from the beginning.
template <class Sync = SyncShardCore, class Async = AsyncShardCore>
[[nodiscard]] auto make_shard(const Job& job, std::uint32_t shard, const ShardKind& kind, std::vector<Step> cuts,
                              const Cut* newest) -> std::unique_ptr<AnyShard> {
  using detail::ShardOf;
  const std::uint64_t budget = kind.table_budget_bytes;
  if (job.consistency.is_synchronous()) {
    if (newest == nullptr) return std::make_unique<ShardOf<Sync>>(job, shard, kind.updaters, budget);
    return std::make_unique<ShardOf<Sync>>(job, shard, kind.updaters, *newest, std::move(cuts), budget);
  }
  if (newest == nullptr) return std::make_unique<ShardOf<Async>>(job, shard, kind.updaters, budget);
  return std::make_unique<ShardOf<Async>>(job, shard, kind.updaters, *newest, budget);
}

/// Whether a durable cut of this shard holds all that the job has: its last step; asynchronous: every rank's last one.
[[nodiscard]] inline auto has_last_cut(const AnyShard& shard, const Job& job) -> bool {
  const Rank ranks = job.consistency.is_synchronous() ? 1 : job.ranks;  // synchronous: it is the same for all ranks
  for (Rank rank = 0; rank < ranks; ++rank) {
    const Progress progress = shard.progress(rank);
    const Step last = job.steps_of(rank);
    if (last != 0 && (progress.cuts.empty() || progress.cuts.back() < last)) return false;
  }
  return true;
}

#ifdef DISTRIB_SEPARATE_COMPILATION  // in cmake/separate/shard.cpp
extern template auto make_shard(const Job&, std::uint32_t, const ShardKind&, std::vector<Step>, const Cut*)
    -> std::unique_ptr<AnyShard>;
#endif

}  // namespace v0
}  // namespace distrib
