// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulation/synchronous_rules.hpp"

#include <distrib/ps/job/reduction_order.hpp>
#include <distrib/ps/server/rank_dealer.hpp>
#include <distrib/ps/worker/served_ranks.hpp>

#include <utility>

namespace simulation {

/// Synchronous jobs whose ranks are dealt to processes that come and go. They end with the same values as if each rank
/// had a process of its own.
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

 private:
  static auto dealt(distrib::Job job, Dice& dice) -> distrib::Job {
    job.tables.clear();
    job.updaters_of.clear();
    job.row_mean = distrib::RowMean::of_those_with_key;
    job.ranks = static_cast<Rank>(dice.between(2, 8));
    job.reduction = distrib::ReductionOrder::tree;
    return job;
  }
};

}  // namespace simulation
