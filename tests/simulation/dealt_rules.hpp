// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulation/synchronous_rules.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/rank_block.hpp>
#include <distrib/ps/job/reduction_order.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/protocol/block_sum.hpp>
#include <distrib/ps/server/rank_dealer.hpp>
#include <distrib/ps/worker/served_ranks.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <utility>
#include <vector>

namespace simulation {

/// Synchronous jobs whose ranks are dealt to processes that come and go. Most processes push sums of their ranks. The jobs
/// end with the same values as if each rank had a process of its own.
///
/// `RanksDealer` and `RanksServed` may have a mistake, as the cores may.
template <class ShardCore = distrib::SyncShardCore, class WorkerCore = distrib::SyncWorkerCore,
          class RanksDealer = distrib::RankDealer, class RanksServed = distrib::ServedRanks>
class DealtRanks : public Synchronous<ShardCore, WorkerCore> {
  using Base = Synchronous<ShardCore, WorkerCore>;

 public:
  using Dealer = RanksDealer;
  using Served = RanksServed;

  explicit DealtRanks(Dice& dice) : Base{dice, dealt(Base::make_job(dice, 0), dice)} {}

  /// Returns the contribution of a block of ranks, one block per shard: their sum, as a process makes it.
  [[nodiscard]] auto contribution_of(distrib::RankBlock ranks, Step step, std::span<const distrib::SharedBuffer> values,
                                     auto made_as) -> std::vector<distrib::SharedBuffer> {
    if (ranks.level == 0) return this->contribution(step, made_as(ranks.first), values);
    const auto make = [&](Rank rank, std::span<const std::shared_ptr<distrib::AlignedBuffer>> to) {
      const std::vector<distrib::SharedBuffer> made = this->contribution(step, made_as(rank), values);
      for (std::size_t shard = 0; shard < to.size(); ++shard)
        std::ranges::copy(made[shard]->bytes(), to[shard]->bytes().begin());
    };
    const auto sum = new_blocks();
    sum_(ranks, make, sum);
    return {sum.begin(), sum.end()};
  }

 protected:
  /// Returns zeroed blocks for a sum, one per shard.
  [[nodiscard]] auto new_blocks() const -> std::vector<std::shared_ptr<distrib::AlignedBuffer>> {
    std::vector<std::shared_ptr<distrib::AlignedBuffer>> blocks;
    for (const distrib::ShardLayout& layout : this->layouts())
      blocks.push_back(std::make_shared<distrib::AlignedBuffer>(layout.block_bytes()));
    return blocks;
  }

 private:
  static auto dealt(distrib::Job job, Dice& dice) -> distrib::Job {
    job.tables.clear();
    job.updaters_of.clear();
    job.row_mean = distrib::RowMean::of_those_with_key;
    job.ranks = static_cast<Rank>(dice.between(2, 8));
    job.reduction = distrib::ReductionOrder::tree;
    return job;
  }

  distrib::BlockSum sum_{this->job};
};

}  // namespace simulation
