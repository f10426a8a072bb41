// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulation/carrier.hpp"
#include "simulation/hashed_model.hpp"
#include "simulation/synchronous_rules.hpp"
#include "simulation/table_oracle.hpp"

#include <distrib/optimizer/adagrad.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/reduce.hpp>
#include <distrib/ps/cut/initial_cut.hpp>
#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/protocol/sync_shard_core.hpp>
#include <distrib/ps/protocol/sync_worker_core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace simulation {

/// Synchronous jobs with fewer replicas to aggregate than ranks. Which contributions count is known only when they
/// arrive. So the values of each shard are computed again from what was sent to it: for each step exactly the first n
/// contributions, in rank order, each name once. A contribution must be made from the values of one step while no shard
/// came back; no shard is sent back. Ranks that the job can do without may be lost for ever.
///
/// `ShardCore` and `WorkerCore` may be cores with a mistake.
template <class ShardCore = distrib::SyncShardCore, class WorkerCore = distrib::SyncWorkerCore>
class BackupWorkers {
 public:
  using Worker = WorkerCore;
  static constexpr bool survives_lost_disks = true;
  static constexpr bool loses = true;
  distrib::Job job;

  /// A shard that is checked after each event.
  class Shard : public ShardCore {
   public:
    template <class... Cuts>
    Shard(BackupWorkers& rules, std::uint32_t number, Cuts&&... cuts)
        : ShardCore{rules.job, number, rules.updaters_, std::forward<Cuts>(cuts)...}, rules_{rules}, number_{number} {}

    void push(Peer peer, distrib::Contribution contribution, auto& out) {
      rules_.sent(number_, contribution);
      ShardCore::push(peer, std::move(contribution), out);
      if (!this->progress().no_values) rules_.look_at(number_, *this);
    }
    void restore(Peer, Step, auto&, std::uint64_t) { rules_.wrong_ = true; }

   private:
    BackupWorkers& rules_;
    std::uint32_t number_;
  };

  explicit BackupWorkers(Dice& dice) : job{make_job(dice)} {
    std::size_t step_bytes = model_.has_tables() ? 1024 * layouts().size() : 0;
    for (const distrib::ShardLayout& layout : layouts()) step_bytes += layout.wire_block_bytes();
    budget_ = dice.pick<std::size_t>({0, step_bytes, 3 * step_bytes, 2 * job.cut_interval * step_bytes, 1 << 20});
    truth_.resize(layouts().size());
    initial_ = draw_initial_values(job);
  }
  BackupWorkers(const BackupWorkers&) = delete;
  auto operator=(const BackupWorkers&) -> BackupWorkers& = delete;

  [[nodiscard]] auto layouts() const -> const std::vector<distrib::ShardLayout>& { return model_.layouts(); }

  [[nodiscard]] auto first_disk(std::uint32_t shard) const -> Disk {
    return {{0, initial_cut(job, layouts()[shard], updaters_)}};
  }

  [[nodiscard]] auto shard(std::uint32_t shard, const Disk& disk) -> std::unique_ptr<Shard> {
    const auto& [newest, cut] = *disk.rbegin();
    Truth& truth = truth_[shard];
    came_back_ = came_back_ || !truth.states.empty();
    truth = {};
    truth.k = newest;
    if (newest == 0) {
      const Cut initial = initial_cut(job, layouts()[shard], updaters_);
      const distrib::SharedBuffer& values = initial_.empty() ? initial.values : initial_[shard];
      truth.states.insert({0, State{values, initial.slots, initial_tables()}});
      return std::make_unique<Shard>(*this, shard);
    }
    truth.states.insert({newest, saved_.at(cut.values.get())});
    std::vector<distrib::DurableCut> cuts;
    for (const auto& [step, kept] : disk) cuts.push_back({step, kept.lineage});
    return std::make_unique<Shard>(*this, shard, cut, std::move(cuts));
  }

  [[nodiscard]] auto worker(Rank rank) const -> std::unique_ptr<Worker> {
    return std::make_unique<Worker>(
        job, rank,
        distrib::WorkerOptions{.replay_budget_bytes = budget_, .initial_values = initial_, .wants_result = rank == 0});
  }

  [[nodiscard]] auto wanted(Step step, Rank rank) { return model_.wanted(step, rank); }

  [[nodiscard]] auto contribution(Step step, Rank rank, std::span<const distrib::SharedBuffer> values)
      -> std::vector<distrib::SharedBuffer> {
    HashedModel::Gradients made = model_.gradients(step, rank, values);
    std::vector<distrib::SharedBuffer> blocks = model_.contribution(step, rank, values);
    for (std::uint32_t shard = 0; shard < blocks.size(); ++shard)
      made_.insert({blocks[shard].get(), Made{blocks[shard], step, rank, std::move(made.dense[shard]), made.tables}});
    return blocks;
  }

  /// True if these are the values of the step before. If a shard came back, other shards may be ahead; the values of
  /// such a shard are of the step where it is.
  [[nodiscard]] auto good_input(Step step, Rank, std::span<const distrib::SharedBuffer> values) const -> bool {
    Step least = distrib::end_of_job;
    Step most = 0;
    for (std::uint32_t shard = 0; shard < values.size(); ++shard) {
      const auto given = given_.find(values[shard].get());
      if (given == given_.end() || given->second.shard != shard) return false;
      least = std::min(least, given->second.step);
      most = std::max(most, given->second.step);
    }
    return came_back_ ? least >= step - 1 : least == step - 1 && most == least;
  }

  /// True if the answer is right. Some pulls only ask when the shard has room, and want no rows.
  [[nodiscard]] auto good_values(const Shard&, std::uint32_t shard, Rank rank, const distrib::ValuesReply& reply)
      -> bool {
    const Truth& truth = truth_[shard];
    const auto state = truth.states.find(reply.step);
    if (wrong_ || state == truth.states.end()) return false;
    given_.insert_or_assign(reply.block.get(), Given{reply.block, shard, reply.step});
    if (same(*reply.block, *distrib::wire_block(layouts()[shard], state->second.values))) return true;
    for (Step step = reply.step + 1; step > 0 && model_.has_tables(); --step)  // the contribution that the rows are for
      if (same(*reply.block, state->second.tables.values(layouts()[shard], *state->second.values,
                                                         model_.requests(step, rank)[shard])))
        return true;
    return false;
  }

  [[nodiscard]] auto good_cut(std::uint32_t shard, const Cut& cut) -> bool {
    const auto found = truth_[shard].states.find(cut.step);
    if (wrong_ || found == truth_[shard].states.end()) return false;
    const State& state = found->second;
    saved_.insert({cut.values.get(), {cut.values, state.slots, state.tables}});
    return same(*cut.values, *state.values) && cut.slots.size() == state.slots.size() &&
           (cut.slots.empty() || same(*cut.slots[0], *state.slots[0])) &&
           same(cut.tables, state.tables.cut(layouts()[shard]));
  }

  [[nodiscard]] auto good_result(std::uint32_t shard, const distrib::AlignedBuffer& block, const Disk&) -> bool {
    const State& state = truth_[shard].states.at(job.total_steps);
    const distrib::PullRows& rows = model_.requests(job.total_steps + 1, 0)[shard];
    return same(block, state.tables.values(layouts()[shard], *state.values, rows));
  }

  [[nodiscard]] auto holds_all_of(Rank, std::uint32_t, const Disk& disk) const -> bool {
    const auto last = disk.find(job.total_steps);
    return !wrong_ && last != disk.end() && saved_.contains(last->second.values.get());
  }

  /// Returns how many contributions arrived too late, each name once for each start of its shard.
  [[nodiscard]] auto stale() const -> std::uint64_t { return stale_; }

 private:
  struct State {
    distrib::SharedBuffer values;
    std::vector<distrib::SharedBuffer> slots;
    TableOracle tables;
  };
  /// What a shard must be, since it was started.
  struct Truth {
    Step k = 0;
    std::map<Step, State> states;
    std::map<Step, std::map<Rank, const distrib::AlignedBuffer*>> counted;  // or stored; for steps that it has seen
    std::set<std::pair<Step, Rank>> stale;
  };
  struct Made {
    distrib::SharedBuffer block;
    Step step;
    Rank rank;
    Floats dense;
    std::vector<KeyGradients> tables;
  };
  struct Given {
    distrib::SharedBuffer block;
    std::uint32_t shard;
    Step step;
  };

  static auto make_job(Dice& dice) -> distrib::Job {
    distrib::Job job = Synchronous<>::make_job(dice, 0);
    job.replicas = 1;  // the values of two replicas would differ
    job.reduction = distrib::ReductionOrder::rank_order;  // not all ranks count
    job.ranks = static_cast<Rank>(dice.between(2, 5));
    const auto counted_ranks = static_cast<std::uint32_t>(dice.between(1, job.ranks - 1));
    job.consistency = distrib::BulkSynchronousParallel{.replicas_to_aggregate = counted_ranks};
    return job;
  }

  [[nodiscard]] auto initial_tables() const -> TableOracle { return TableOracle{job, updaters_}; }

  // A contribution was sent to a shard: it counts if it is one of the first of its step.
  void sent(std::uint32_t shard, const distrib::Contribution& contribution) {
    Truth& truth = truth_[shard];
    const auto [step, rank] = std::pair{contribution.step, contribution.rank};
    if (step == 0) return;  // the values that it sets are checked
    const auto made = made_.find(contribution.block.get());
    if (made == made_.end() || made->second.step != step || made->second.rank != rank) wrong_ = true;
    if (wrong_ || step > truth.k + contribution_window(job)) return;
    const std::size_t counted_ranks = job.consistency.replicas_to_aggregate(job.ranks);
    auto& counted = truth.counted[step];
    if (counted.contains(rank)) return;
    if (step <= truth.k || counted.size() == counted_ranks) {
      stale_ += truth.stale.insert({step, rank}).second ? 1U : 0U;
      return;
    }
    counted[rank] = contribution.block.get();
    while (truth.counted[truth.k + 1].size() == counted_ranks) complete(shard, truth);
  }

  void complete(std::uint32_t shard, Truth& truth) {
    const State& before = truth.states.at(truth.k);
    std::vector<std::span<const float>> blocks;
    std::vector<std::vector<KeyGradients>> of_tables;
    for (const auto& [rank, block] : truth.counted.at(truth.k + 1)) {  // by rank
      blocks.emplace_back(made_.at(block).dense);
      of_tables.push_back(made_.at(block).tables);
    }
    ++truth.k;
    const std::size_t size = layouts()[shard].block_bytes();
    auto to = std::make_shared<distrib::AlignedBuffer>(size);
    auto slot = std::make_shared<distrib::AlignedBuffer>(layouts()[shard].float_bytes());
    if (!before.slots.empty()) std::ranges::copy(before.slots[0]->bytes(), slot->bytes().begin());
    distrib::AlignedBuffer mean{slot->size()};
    const std::size_t trained = mean.as<float>().size();
    std::vector<std::span<const float>> floats;
    for (const auto block : blocks) floats.push_back(block.first(trained));
    distrib::reduce_mean(floats, mean.as<float>());
    const std::span<float> slots[] = {slot->template as<float>()};
    updaters_[0].apply({truth.k}, mean.as<float>(), before.values->template as<float>().first(trained),
                       to->template as<float>().first(trained), slots);
    count(layouts()[shard], blocks, *before.values, *to);
    TableOracle tables = before.tables;
    tables.update(truth.k, of_tables);
    std::vector<distrib::SharedBuffer> of_groups;
    if (!layouts()[shard].groups().empty()) of_groups.push_back(std::move(slot));
    truth.states.insert({truth.k, State{std::move(to), std::move(of_groups), std::move(tables)}});
  }

  // Checks the shard. It does not count a contribution as stale that arrives after a newer one of the same rank.
  void look_at(std::uint32_t shard, const ShardCore& core) {
    const Truth& truth = truth_[shard];
    if (wrong_ || core.step() != truth.k || core.stale() > truth.stale.size() ||
        !same(*core.store().dense(), *truth.states.at(truth.k).values))
      wrong_ = true;
  }

  distrib::JobUpdaters updaters_{distrib::Momentum{.learning_rate = distrib::Linear{0.5F, 0.01F, 14}},
                                 distrib::Adagrad{.learning_rate = 0.25F}};
  HashedModel model_{job};
  std::size_t budget_ = 0;
  std::vector<distrib::SharedBuffer> initial_;  // by shard; empty: no custom values
  std::vector<Truth> truth_;  // by shard
  std::map<const distrib::AlignedBuffer*, Made> made_;  // contributions by the addresses of their blocks
  std::map<const distrib::AlignedBuffer*, Given> given_;  // values by the addresses of their blocks
  // cuts by the addresses of their blocks; all blocks are kept, so no address is used twice
  std::map<const distrib::AlignedBuffer*, State> saved_;
  std::uint64_t stale_ = 0;
  bool came_back_ = false;
  bool wrong_ = false;
};

}  // namespace simulation
