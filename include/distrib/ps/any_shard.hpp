// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/adam.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/optimizer/updater.hpp>
#include <distrib/optimizer/updater_list.hpp>
#include <distrib/ps/async_shard_core.hpp>
#include <distrib/ps/consistency.hpp>
#include <distrib/ps/job.hpp>
#include <distrib/ps/messages.hpp>
#include <distrib/ps/shard_action.hpp>
#include <distrib/ps/shard_layout.hpp>
#include <distrib/ps/sync_shard_core.hpp>

#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

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
  virtual void operator()(SaveCut action) = 0;
  virtual void operator()(LoadCut action) = 0;
  virtual void operator()(DropCut action) = 0;
  virtual void operator()(ShardDone action) = 0;
};

/// The core of a shard behind one type, whatever its updater and consistency: for a server, which learns both when it
/// runs. The members are those of `SyncShardCore` and `AsyncShardCore`.
class AnyShard {
 public:
  virtual ~AnyShard() = default;
  virtual void join(Peer peer, Rank rank, ShardSink& out) = 0;
  virtual void disconnect(Peer peer) = 0;
  virtual void push(Peer peer, Contribution contribution, ShardSink& out) = 0;
  virtual void pull(Peer peer, Step step, ShardSink& out) = 0;
  virtual void restore(Peer peer, Step cut, ShardSink& out) = 0;  ///< Asynchronous: nothing.
  virtual void save(ShardSink& out) = 0;
  virtual void goodbye(Peer peer, ShardSink& out) = 0;
  virtual void cut_saved(Step step, ShardSink& out) = 0;
  virtual void cut_loaded(const Cut& cut, ShardSink& out) = 0;    ///< Asynchronous: nothing.

  [[nodiscard]] virtual auto step() const -> Step = 0;
  [[nodiscard]] virtual auto progress(Rank rank) const -> Progress = 0;
  [[nodiscard]] virtual auto values() const -> const SharedBuffer& = 0;
  [[nodiscard]] virtual auto layout() const -> const ShardLayout& = 0;
};

namespace detail {

template <class Core>
class ShardOf final : public AnyShard {
 public:
  explicit ShardOf(Core core) : core_{std::move(core)} {}

  void join(Peer peer, Rank rank, ShardSink& out) override { core_.join(peer, rank, out); }
  void disconnect(Peer peer) override { core_.disconnect(peer); }
  void push(Peer peer, Contribution contribution, ShardSink& out) override {
    core_.push(peer, std::move(contribution), out);
  }
  void pull(Peer peer, Step step, ShardSink& out) override { core_.pull(peer, step, out); }
  void restore(Peer peer, Step cut, ShardSink& out) override {
    if constexpr (restores) core_.restore(peer, cut, out);
  }
  void save(ShardSink& out) override { core_.save(out); }
  void goodbye(Peer peer, ShardSink& out) override { core_.goodbye(peer, out); }
  void cut_saved(Step step, ShardSink& out) override { core_.cut_saved(step, out); }
  void cut_loaded(const Cut& cut, ShardSink& out) override {
    if constexpr (restores) core_.cut_loaded(cut, out);
  }
  [[nodiscard]] auto step() const -> Step override { return core_.step(); }
  [[nodiscard]] auto progress(Rank rank) const -> Progress override {
    if constexpr (restores) return core_.progress();
    else return core_.progress(rank);
  }
  [[nodiscard]] auto values() const -> const SharedBuffer& override { return core_.values(); }
  [[nodiscard]] auto layout() const -> const ShardLayout& override { return core_.layout(); }

 private:
  static constexpr bool restores = requires(Core& core, ShardSink& out) { core.restore(Peer{}, Step{}, out); };
  Core core_;
};

template <Updater U>
auto make_shard(const Job& job, std::uint32_t shard, const U& updater, const ConsistencyKind& consistency,
                std::vector<Step> cuts, const Cut* newest) -> std::unique_ptr<AnyShard> {
  if (consistency.synchronous) {
    using Core = SyncShardCore<U>;
    if (newest == nullptr) return std::make_unique<ShardOf<Core>>(Core{job, shard, updater});
    return std::make_unique<ShardOf<Core>>(Core{job, shard, updater, *newest, std::move(cuts)});
  }
  using Core = AsyncShardCore<U>;
  if (newest == nullptr) return std::make_unique<ShardOf<Core>>(Core{job, shard, updater, consistency.staleness});
  return std::make_unique<ShardOf<Core>>(Core{job, shard, updater, consistency.staleness, *newest});
}

#ifdef DISTRIB_SEPARATE_COMPILATION  // in cmake/separate/ps.cpp
extern template auto make_shard(const Job&, std::uint32_t, const Sgd&, const ConsistencyKind&, std::vector<Step>,
                                const Cut*) -> std::unique_ptr<AnyShard>;
extern template auto make_shard(const Job&, std::uint32_t, const Momentum&, const ConsistencyKind&, std::vector<Step>,
                                const Cut*) -> std::unique_ptr<AnyShard>;
extern template auto make_shard(const Job&, std::uint32_t, const Adam&, const ConsistencyKind&, std::vector<Step>,
                                const Cut*) -> std::unique_ptr<AnyShard>;
#endif

}  // namespace detail

/// How the shards of one job are made.
struct ShardKind {
  ConsistencyKind consistency;
  std::span<const Slot> slots;  ///< Of its updater.
  /// Shard number `shard`, that goes on from `newest`, the newest of its durable `cuts`; null: from the beginning.
  std::function<std::unique_ptr<AnyShard>(const Job& job, std::uint32_t shard, std::vector<Step> cuts,
                                          const Cut* newest)>
      make;
};

/// Shards with this updater and this consistency.
template <Updater U>
[[nodiscard]] auto shard_kind(const U& updater, const ConsistencyKind& consistency) -> ShardKind {
  return {consistency, U::slots,
          [updater, consistency](const Job& job, std::uint32_t shard, std::vector<Step> cuts, const Cut* newest) {
            return detail::make_shard(job, shard, updater, consistency, std::move(cuts), newest);
          }};
}

/// Finds out how the shards of a job are made; one without `make` when its updater or its consistency is not known.
using ShardKinds = std::function<ShardKind(const Job& job)>;

/// The kinds of shards that these updaters make possible.
template <Updater... Us>
[[nodiscard]] auto shard_kinds(UpdaterList<Us...> updaters) -> ShardKinds {
  return [updaters](const Job& job) {
    ShardKind kind;
    const auto consistency = parse_consistency(job.consistency);
    if (!consistency) return kind;
    const bool known = updaters.visit(
        job.updater, [&](const auto& updater) { kind = shard_kind(updater, *consistency); });
    return known ? kind : ShardKind{};
  };
}

}  // namespace distrib::inline v0
