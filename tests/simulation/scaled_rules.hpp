// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulation/synchronous_rules.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/protocol/rank_log_core.hpp>
#include <distrib/ps/protocol/worker_action.hpp>

#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace simulation {

/// Synchronous jobs whose ranks change while they run. What the values must be follows from the entries that are
/// durable at some shard, and from nothing else: each step has their ranks and their rate, and each contribution is
/// made of its number.
///
/// The cores may have a mistake.
template <class ShardCore = distrib::SyncShardCore, class WorkerCore = distrib::SyncWorkerCore>
class ScaledRanks : public Synchronous<ShardCore, WorkerCore> {
  using Base = Synchronous<ShardCore, WorkerCore>;

 public:
  static constexpr bool scales = true;
  static constexpr bool survives_lost_disks = false;

  explicit ScaledRanks(Dice& dice)
      : Base{dice, scaled(Base::make_job(dice, 0), dice)}, steps_ahead_{dice.pick<Step>({1, 1, 2, 4})} {}

  /// A shard starts with this file. A mistake may change it; `newest` is the newest cut.
  void open(ShardCore& core, std::optional<distrib::RankFile> file, Step newest) {
    change_file(core, file, newest);
    core.rank_log()->open(file, steps_ahead_);
  }
  virtual void propose(ShardCore& core, const distrib::RankEntry& entry) { core.rank_log()->propose(0, entry); }

  /// A file of a shard is durable.
  virtual void agreed(std::uint32_t, const distrib::RankFile& file) {
    for (const distrib::SharedRankEntry& entry : file.entries) log_.add(entry);
  }
  /// Returns the entries that are durable at some shard.
  [[nodiscard]] auto log() const -> const distrib::RankLog& { return log_; }

  [[nodiscard]] virtual auto contribution_of(const distrib::Compute& work, Rank rank) const
      -> std::vector<distrib::SharedBuffer> {
    return this->contribution(work.step, name_of(rank, work.number), work.values);
  }

 protected:
  virtual void change_file(ShardCore&, std::optional<distrib::RankFile>&, Step) const {}
  /// Returns the rank by whose name a contribution of this number is made.
  static auto name_of(Rank rank, std::uint64_t number) -> Rank { return static_cast<Rank>(rank + 64 * number); }

  /// Counted step by step, unlike `RankLog::number_of`.
  [[nodiscard]] auto makers(Step step) const -> std::vector<typename Base::Maker> override {
    std::uint64_t number = 0;
    for (Step before = 1; before < step; ++before) number += log_.entry_of(before)->ranks.size();
    std::vector<typename Base::Maker> all;
    for (const Rank rank : log_.entry_of(step)->ranks) all.push_back({rank, name_of(rank, number++)});
    return all;
  }

  [[nodiscard]] auto rate_factor(Step step) const -> double override {
    return drawn_factor(*log_.entry_of(step), step);
  }

 private:
  static auto scaled(distrib::Job job, Dice& dice) -> distrib::Job {
    job.tables.clear();
    job.updaters_of.clear();
    job.row_mean = distrib::RowMean::of_those_with_key;
    job.replicas = 1;
    job.most_ranks = static_cast<std::uint32_t>(dice.between(1, 6));
    job.ranks = static_cast<Rank>(dice.between(1, job.most_ranks));
    if (dice.percent(50)) job.reduction = distrib::ReductionOrder::tree;
    job.total_steps += dice.below(9);
    return job;
  }

  distrib::RankLog log_{this->job.ranks};
  Step steps_ahead_;
};

}  // namespace simulation
