// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/any_shard.hpp>

#include <distrib/ps/protocol/shard_cores.hpp>

#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

template <class Core>
class ShardOf final : public AnyShard {
 public:
  template <class... Args>
  explicit ShardOf(Args&&... args) : core_{std::forward<Args>(args)...} {}

  void join(Peer peer, RankBlock ranks, ShardSink& out) override {
    if constexpr (Core::is_synchronous) core_.join(peer, ranks, out);
    else core_.join(peer, ranks.first, out);
  }
  void disconnect(Peer peer, ShardSink& out) override { core_.disconnect(peer, out); }
  void push(Peer peer, Contribution contribution, ShardSink& out) override {
    core_.push(peer, std::move(contribution), out);
  }
  void pull(Peer peer, Step step, ShardSink& out, PullRows rows) override {
    core_.pull(peer, step, out, std::move(rows));
  }
  void restore(Peer peer, Step cut, ShardSink& out, std::uint64_t lineage) override {
    if constexpr (Core::is_synchronous) core_.restore(peer, cut, out, lineage);
  }
  void save(ShardSink& out) override { core_.save(out); }
  void save(Peer peer, ShardSink& out) override {
    if constexpr (Core::is_synchronous) core_.save(out);
    else core_.save(peer, out);
  }
  void goodbye(Peer peer, ShardSink& out) override { core_.goodbye(peer, out); }
  void vacate(Rank rank, ShardSink& out) override {
    if constexpr (Core::is_synchronous) core_.vacate(rank, out);
  }
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
  [[nodiscard]] auto rank_log() -> RankLogCore* override { return core_.rank_log(); }
  [[nodiscard]] auto rank_step() const -> Step override { return core_.rank_step(); }
  void ranks_written(ShardSink& out) override { core_.ranks_written(out); }
  [[nodiscard]] auto erase_log() -> EraseLogCore* override {
    if constexpr (Core::is_synchronous) return core_.erase_log();
    else return nullptr;
  }
  [[nodiscard]] auto common_cut() const -> Step override {
    if constexpr (Core::is_synchronous) return core_.common_cut();
    else return 0;
  }
  [[nodiscard]] auto take_needed_ranks() -> std::optional<std::vector<Rank>> override {
    if constexpr (Core::is_synchronous) return std::nullopt;
    else return core_.take_needed_ranks();
  }
  [[nodiscard]] auto step() const -> Step override { return core_.step(); }
  [[nodiscard]] auto takes_sums() const -> bool override {
    if constexpr (Core::is_synchronous) return core_.takes_sums();
    else return false;
  }
  [[nodiscard]] auto progress(Rank rank) const -> Progress override {
    if constexpr (Core::is_synchronous) return core_.named_progress();
    else return core_.progress(rank);
  }
  [[nodiscard]] auto stale() const -> std::uint64_t override {
    if constexpr (Core::is_synchronous) return core_.stale();
    else return 0;
  }
  [[nodiscard]] auto waiting_bytes() const -> std::uint64_t override {
    if constexpr (Core::is_synchronous) return core_.waiting_bytes();
    else return 0;
  }
  [[nodiscard]] auto most_waiting_bytes() const -> std::uint64_t override {
    if constexpr (Core::is_synchronous) return core_.most_waiting_bytes();
    else return 0;
  }
  [[nodiscard]] auto everything_saved() const -> bool override {
    if constexpr (Core::is_synchronous) return false;
    else return core_.everything_saved();
  }
  [[nodiscard]] auto saved() const -> Step override {
    if constexpr (Core::is_synchronous) return 0;
    else return core_.saved();
  }
  [[nodiscard]] auto store() -> ShardStore& override { return core_.store(); }
  [[nodiscard]] auto store() const -> const ShardStore& override { return core_.store(); }

 private:
  Core core_;
};

}  // namespace detail

DISTRIB_DECL auto shard_kinds(UpdaterFinder find) -> ShardKinds {
  return [find = std::move(find)](const Job& job, Error& error) {
    ShardKind kind;
    kind.updaters = find_updaters(job, find, error);
    return kind;
  };
}

DISTRIB_DECL auto make_shard(const Job& job, std::uint32_t shard, const ShardKind& kind, std::vector<DurableCut> cuts,
                             const Cut* newest) -> std::unique_ptr<AnyShard> {
  using Sync = detail::ShardOf<ShardCores<void>::Synchronous>;
  using Async = detail::ShardOf<ShardCores<void>::Asynchronous>;
  const std::uint64_t budget = kind.table_budget_bytes;
  if (job.consistency.is_synchronous()) {
    if (newest == nullptr) return std::make_unique<Sync>(job, shard, kind.updaters, budget);
    return std::make_unique<Sync>(job, shard, kind.updaters, *newest, std::move(cuts), budget);
  }
  if (newest == nullptr) return std::make_unique<Async>(job, shard, kind.updaters, budget);
  return std::make_unique<Async>(job, shard, kind.updaters, *newest, budget);
}

DISTRIB_DECL auto has_last_cut(const AnyShard& shard, const Job& job) -> bool {
  if (!job.consistency.is_synchronous() && job.most_ranks != 0) return shard.everything_saved();
  const Rank ranks = job.consistency.is_synchronous() ? 1 : job.ranks;  // synchronous: the same for all ranks
  for (Rank rank = 0; rank < ranks; ++rank) {
    const Progress progress = shard.progress(rank);
    const Step last = job.steps_of(rank);
    if (last != 0 && (progress.cuts.empty() || progress.cuts.back() < last)) return false;
  }
  return true;
}

}  // namespace v0
}  // namespace distrib
