// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulation/carrier.hpp"
#include "simulation/hashed_model.hpp"
#include "simulation/table_oracle.hpp"

#include <distrib/optimizer/adagrad.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/reduce.hpp>
#include <distrib/ps/cut/initial_cut.hpp>
#include <distrib/ps/job/lineage.hpp>
#include <distrib/ps/job/rank_block.hpp>
#include <distrib/ps/protocol/sync_shard_core.hpp>
#include <distrib/ps/protocol/sync_worker_core.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace simulation {

/// Synchronous jobs whose gradients are hashes of all values. What the values must be is computed without any core.
/// Half of the jobs have tables; some of these jobs continue from a cut just before rows are evicted. A fifth of the
/// jobs start with custom initial values. If a job is started again with other settings, all values at one time must be
/// of one history.
///
/// `ShardCore` and `WorkerCore` may be cores with a mistake.
template <class ShardCore = distrib::SyncShardCore, class WorkerCore = distrib::SyncWorkerCore>
class Synchronous {
 public:
  using Shard = ShardCore;
  using Worker = WorkerCore;
  static constexpr bool survives_lost_disks = true;
  Step first;  ///< The step of the cut to continue from; 0: cut 0.
  distrib::Job job;

  explicit Synchronous(Dice& dice) : first{dice.percent(8) ? dice.between(58, 64) : 0}, job{make_job(dice, first)} {
    draw_budget(dice);
  }
  /// Rules for a given job, which starts at step 0.
  Synchronous(Dice& dice, distrib::Job of) : first{0}, job{std::move(of)} { draw_budget(dice); }
  virtual ~Synchronous() = default;
  Synchronous(const Synchronous&) = delete;
  auto operator=(const Synchronous&) -> Synchronous& = delete;

  [[nodiscard]] auto layouts() const -> const std::vector<distrib::ShardLayout>& { return model_.layouts(); }

  /// True if the job can be started again with other settings.
  [[nodiscard]] auto can_change_settings() const -> bool { return first == 0 && settings_ + 1 < updaters_.size(); }
  /// Gives the job its next settings. All shards and workers must be made again.
  void change_settings() { job.updater = name_of(++settings_); }

  /// Returns contribution 0, one block per shard; empty: no custom values.
  [[nodiscard]] auto initial_values() const -> const std::vector<distrib::SharedBuffer>& { return initial_; }
  [[nodiscard]] auto updaters() const -> const distrib::JobUpdaters& { return updaters_[settings_]; }

  /// Returns cut 0, made again as a shell does it, and the cut to continue from.
  [[nodiscard]] auto first_disk(std::uint32_t shard) const -> Disk {
    Disk disk{{0, initial_cut(job, layouts()[shard], updaters_[settings_])}};
    if (first != 0) disk.insert({first, state(History(first, '0')).cuts[shard]});
    return disk;
  }

  [[nodiscard]] auto shard(std::uint32_t shard, const Disk& disk) const -> std::unique_ptr<Shard> {
    if (disk.size() == 1 && disk.contains(0)) return std::make_unique<Shard>(job, shard, updaters_[settings_]);
    std::vector<distrib::DurableCut> cuts;
    for (const auto& [step, kept] : disk) cuts.push_back({step, kept.lineage});
    return std::make_unique<Shard>(job, shard, updaters_[settings_], disk.rbegin()->second, std::move(cuts));
  }

  [[nodiscard]] auto worker(distrib::RankBlock ranks) const -> std::unique_ptr<Worker> {
    return std::make_unique<Worker>(job, ranks.first,
                                    distrib::WorkerOptions{.replay_budget_bytes = budget_,
                                                           .initial_values = initial_,
                                                           .wants_result = ranks.first == 0,
                                                           .level = ranks.level});
  }

  [[nodiscard]] auto wanted(Step step, Rank rank) const { return model_.wanted(step, rank); }
  [[nodiscard]] auto contribution(Step step, Rank rank, std::span<const distrib::SharedBuffer> values) const {
    return model_.contribution(step, rank, values);
  }

  /// True if these are the values for the contribution of `step`.
  [[nodiscard]] auto good_input(Step step, Rank rank, std::span<const distrib::SharedBuffer> values) const -> bool {
    return in_some_history(step - 1, [&](const History& history) {
      for (std::uint32_t shard = 0; shard < values.size(); ++shard)
        if (!same(*values[shard], *pulled(history, shard, rank))) return false;
      return true;
    });
  }

  /// True if the answer is right. Some pulls only ask when the shard has room, and want no rows.
  [[nodiscard]] auto good_values(const Shard&, std::uint32_t shard, Rank rank, const distrib::ValuesReply& reply) const
      -> bool {
    return in_some_history(reply.step, [&](const History& history) {
      const distrib::SharedBuffer& values = state(history).cuts[shard].values;
      return same(*reply.block, *distrib::wire_block(layouts()[shard], values)) ||
             (model_.has_tables() && same(*reply.block, *pulled(history, shard, rank)));
    });
  }

  [[nodiscard]] auto good_cut(std::uint32_t shard, const Cut& cut) const -> bool {
    return in_some_history(cut.step, [&](const History& history) { return is_cut_of(history, shard, cut); });
  }

  [[nodiscard]] auto good_result(std::uint32_t shard, const distrib::AlignedBuffer& block, const Disk&) const -> bool {
    return in_some_history(job.total_steps,
                           [&](const History& history) { return same(block, *pulled(history, shard, 0)); });
  }
  /// True if the results of all shards together are the end of one history.
  [[nodiscard]] auto good_results(std::span<const distrib::SharedBuffer> blocks) const -> bool {
    return blocks.empty() || good_input(job.total_steps + 1, 0, blocks);
  }

  [[nodiscard]] auto holds_all_of(Rank, std::uint32_t shard, const Disk& disk) const -> bool {
    return disk.contains(job.total_steps) && good_cut(shard, disk.at(job.total_steps));
  }
  /// True if the replicas of each shard hold the end of one history. `disks`: in the order of their numbers.
  [[nodiscard]] auto end_in_one_history(std::span<const Disk* const> disks) const -> bool {
    return in_some_history(job.total_steps, [&](const History& history) {
      const auto shards = static_cast<std::uint32_t>(layouts().size());
      for (std::uint32_t shard = 0; shard < shards; ++shard) {
        bool held = false;
        for (std::size_t replica = shard; replica < disks.size(); replica += shards)
          if (const auto last = disks[replica]->find(job.total_steps); last != disks[replica]->end())
            held = held || is_cut_of(history, shard, last->second);
        if (!held) return false;
      }
      return true;
    });
  }

  static auto make_job(Dice& dice, Step first) -> distrib::Job {
    using namespace distrib;
    Job job;
    job.seed = dice.next();
    job.updater = name_of(0);
    job.tasks = static_cast<std::uint32_t>(dice.between(1, 2));
    job.shards_per_task = static_cast<std::uint32_t>(dice.between(1, 2));
    job.ranks = static_cast<Rank>(dice.between(1, 4));
    if (job.tasks == 2 && job.seed / 8 % 2 == 0) job.replicas = 2;
    job.total_steps = first + dice.between(3, 14);
    job.cut_interval = dice.below(6);
    job.variables = {{"a", DType::float32, {5, 3}, UniformInitializer{}},
                     {"b", DType::float32, {7}, UniformInitializer{}},
                     {"c", DType::float32, {}, ConstantInitializer{0.5F}}};
    if (job.seed % 2 == 0) {  // counters, at positions in between
      job.variables.insert(job.variables.end() - 1, {"n", DType::int64, {3}, {}});
      job.variables.push_back({"m", DType::float64, {2, 3}, {}});
    }
    const auto shard = [&] { return static_cast<std::uint32_t>(dice.below(job.shards())); };
    const auto cut = static_cast<std::int64_t>(dice.below(6));
    job.parts = {{0, Slice::along({5, 3}, 0, 0, cut), shard()},
                 {0, Slice::along({5, 3}, 0, cut, 5 - cut), shard()},
                 {1, Slice::whole({7}), shard()},
                 {2, Slice::whole({}), shard()}};
    if (job.seed % 2 == 0) {
      job.parts[3].variable = 3;
      const auto another = static_cast<std::uint32_t>(job.seed / 2 % job.shards());
      job.parts.insert(job.parts.end() - 1, {2, Slice::whole({3}), another});
      job.parts.push_back({4, Slice::along({2, 3}, 1, 0, 1), job.shards() - 1 - another});
      job.parts.push_back({4, Slice::along({2, 3}, 1, 1, 2), another});
    }
    using distrib::FloatFormat;
    job.wire_format = dice.pick<FloatFormat>({FloatFormat::float32, FloatFormat::bfloat16, FloatFormat::float16});
    if (first == 0 && dice.percent(50)) {  // a job without tables: half of these add in a tree
      if (job.seed / 432 % 2 == 0) job.reduction = ReductionOrder::tree;
      return job;
    }
    TableInfo words;  // any keys
    words.name = "words";
    words.dim = static_cast<std::uint32_t>(dice.between(1, 5));
    words.min_count = static_cast<std::uint32_t>(dice.between(1, 3));
    words.evict_after = first == 0 ? dice.pick<std::uint64_t>({0, 1}) : 1;
    TableInfo items;  // numbered keys; some shards may have none
    items.name = "items";
    items.dim = static_cast<std::uint32_t>(dice.between(1, 5));
    items.rows = dice.between(1, 20);
    constexpr FloatFormat formats[] = {FloatFormat::float32, FloatFormat::bfloat16, FloatFormat::float16};
    if (job.seed / 36 % 3 == 0) {  // two rows for each virtual shard, and eight keys without one
      words.max_rows = 2048;
      words.half_life = job.seed / 108 % 2 * 64;
    }
    words.evict_in_turns = words.evict_after != 0 && job.seed / 216 % 2 == 0;
    words.kept_as = formats[job.seed / 4 % 3];
    items.kept_as = formats[job.seed / 12 % 3];
    job.tables = dice.percent(50) ? std::vector{words, items} : std::vector{items, words};
    if (dice.percent(20)) job.tables.pop_back();
    if (dice.percent(30)) job.row_mean = RowMean::of_all;
    job.updaters_of = {{dice.percent(50) ? "items" : "words", "adagrad"}};
    return job;
  }

 protected:
  /// A rank that contributes to a step, and the rank by whose name the model makes its contribution.
  struct Maker {
    Rank rank;
    Rank as;
  };
  /// Returns who contributes to a step, by ascending ranks.
  [[nodiscard]] virtual auto makers(Step) const -> std::vector<Maker> {
    std::vector<Maker> all;
    for (Rank rank = 0; rank < job.ranks; ++rank) all.push_back({rank, rank});
    return all;
  }
  /// Returns by what the learning rate of a step is multiplied.
  [[nodiscard]] virtual auto rate_factor(Step) const -> double { return 1; }

 private:
  void draw_budget(Dice& dice) {
    std::size_t step_bytes = 0;
    for (const distrib::ShardLayout& layout : layouts()) step_bytes += layout.wire_block_bytes();
    if (model_.has_tables()) step_bytes += 1024 * layouts().size();
    budget_ = dice.pick<std::size_t>({0, step_bytes, 3 * step_bytes, 2 * job.cut_interval * step_bytes, 1 << 20});
    initial_ = draw_initial_values(job);
  }

  /// The settings that made a state: for each step their number, as a digit.
  using History = std::string;

  /// The state of all shards after the steps of a history.
  struct State {
    distrib::Lineage lineage;
    std::vector<Cut> cuts;  // by shard
    TableOracle tables;
    std::vector<distrib::SharedBuffer> pulled;  // by shard and rank; null: not computed yet
  };

  static auto name_of(std::size_t settings) -> std::string { return "momentum " + std::to_string(settings); }

  [[nodiscard]] auto hash_of(std::size_t settings) const -> distrib::Sha256Digest {
    distrib::Job of = job;
    of.updater = name_of(settings);
    return distrib::settings_hash(to_text(of));
  }

  static void mean_in_tree(const std::vector<std::span<const float>>& ranks, std::span<float> mean) {
    for (std::size_t i = 0; i < mean.size(); ++i) {
      std::vector<float> numbers;
      for (const std::span<const float> rank : ranks) numbers.push_back(rank[i]);
      mean[i] = sum_in_tree(std::move(numbers)) / static_cast<float>(ranks.size());
    }
  }

  /// True if the condition holds for a possible history of this number of steps. Settings follow each other.
  [[nodiscard]] auto in_some_history(Step steps, auto is_like_that) const -> bool {
    if (steps > job.total_steps) return false;
    History history(steps, '0');
    return in_some_history(history, 0, '0', is_like_that);
  }
  auto in_some_history(History& history, std::size_t from, char settings, auto& is_like_that) const -> bool {
    if (settings == static_cast<char>('0' + settings_)) return is_like_that(std::as_const(history));
    for (std::size_t since = history.size() + 1; since-- > from;) {
      std::fill(history.begin() + static_cast<std::ptrdiff_t>(since), history.end(), static_cast<char>(settings + 1));
      if (in_some_history(history, since, static_cast<char>(settings + 1), is_like_that)) return true;
      std::fill(history.begin() + static_cast<std::ptrdiff_t>(since), history.end(), settings);
    }
    return false;
  }

  [[nodiscard]] auto is_cut_of(const History& history, std::uint32_t shard, const Cut& cut) const -> bool {
    const Cut& truth = state(history).cuts[shard];
    if (cut.step != truth.step || cut.lineage != truth.lineage) return false;
    if (cut.slots.size() != truth.slots.size()) return false;  // a shard without parts has none
    return same(*cut.values, *truth.values) && (cut.slots.empty() || same(*cut.slots[0], *truth.slots[0])) &&
           same(cut.tables, truth.tables);
  }

  /// Returns the values of a state as `rank` pulls them for the next step.
  [[nodiscard]] auto pulled(const History& history, std::uint32_t shard, Rank rank) const
      -> const distrib::SharedBuffer& {
    State& of = state(history);
    distrib::SharedBuffer& known = of.pulled[shard * job.rank_names() + rank];
    if (known == nullptr) {
      const distrib::PullRows& rows = model_.requests(history.size() + 1, rank)[shard];
      known =
          std::make_shared<distrib::AlignedBuffer>(of.tables.values(layouts()[shard], *of.cuts[shard].values, rows));
    }
    return known;
  }

  [[nodiscard]] auto state(const History& history) const -> State& {
    if (const auto known = states_.find(history); known != states_.end()) return known->second;
    State made = history.empty() ? initial_state() : next_state(history);
    made.pulled.resize(layouts().size() * job.rank_names());
    return states_.emplace(history, std::move(made)).first->second;
  }

  [[nodiscard]] auto initial_state() const -> State {
    State made{{}, {}, TableOracle{job, updaters_[0]}, {}};
    for (const distrib::ShardLayout& layout : layouts()) {
      made.cuts.push_back(initial_cut(job, layout, updaters_[0]));
      made.cuts.back().tables = made.tables.cut(layout);
      if (!initial_.empty()) made.cuts.back().values = initial_[layout.shard()];
    }
    return made;
  }

  [[nodiscard]] auto next_state(const History& history) const -> State {
    const History past = history.substr(0, history.size() - 1);
    const Step step = history.size();
    const auto settings = static_cast<std::size_t>(history.back() - '0');
    const distrib::JobUpdaters& updaters = updaters_[settings];
    std::vector<HashedModel::Gradients> of_ranks;
    std::vector<std::vector<KeyGradients>> of_tables;
    for (const auto [rank, as] : makers(step)) {
      std::vector<distrib::SharedBuffer> values;
      for (std::uint32_t shard = 0; shard < layouts().size(); ++shard) values.push_back(pulled(past, shard, rank));
      of_ranks.push_back(model_.gradients(step, as, values));
      of_tables.push_back(of_ranks.back().tables);
    }
    const State& before = state(past);
    State next{before.lineage.continued(step - 1, hash_of(settings)), {}, before.tables, {}};
    next.tables.set_updaters(updaters);
    next.tables.update(step, of_tables);
    for (std::size_t shard = 0; shard < layouts().size(); ++shard) {
      const Cut& from = before.cuts[shard];
      const std::size_t size = layouts()[shard].block_bytes();
      auto to = std::make_shared<distrib::AlignedBuffer>(size);
      auto slot = std::make_shared<distrib::AlignedBuffer>(layouts()[shard].float_bytes());
      if (!from.slots.empty()) std::ranges::copy(from.slots[0]->bytes(), slot->bytes().begin());
      distrib::AlignedBuffer mean{slot->size()};
      std::vector<std::span<const float>> floats;
      std::vector<std::span<const float>> blocks;
      for (const HashedModel::Gradients& of_rank : of_ranks) blocks.push_back(of_rank.dense[shard]);
      for (const auto block : blocks) floats.push_back(block.first(mean.as<float>().size()));
      if (job.reduction == distrib::ReductionOrder::tree) mean_in_tree(floats, mean.as<float>());
      else distrib::reduce_mean(floats, mean.as<float>());
      const std::span<float> slots[] = {slot->template as<float>()};
      const std::size_t trained = mean.as<float>().size();
      updaters[0].apply({.count = step, .rate_factor = rate_factor(step)}, mean.as<float>(),
                        from.values->as<float>().first(trained), to->as<float>().first(trained), slots);
      count(layouts()[shard], blocks, *from.values, *to, job.reduction == distrib::ReductionOrder::tree);
      std::vector<distrib::SharedBuffer> of_groups;
      if (!layouts()[shard].groups().empty()) of_groups.push_back(std::move(slot));
      next.cuts.push_back(
          {step, std::move(to), std::move(of_groups), {}, next.tables.cut(layouts()[shard]), next.lineage});
    }
    return next;
  }

  std::vector<distrib::JobUpdaters> updaters_{
      {distrib::Momentum{.learning_rate = distrib::Linear{0.5F, 0.01F, 14}}, distrib::Adagrad{.learning_rate = 0.25F}},
      {distrib::Momentum{.learning_rate = 0.125F}, distrib::Adagrad{.learning_rate = 0.5F}},
      {distrib::Momentum{.learning_rate = 0.75F}, distrib::Adagrad{.learning_rate = 0.25F}}};
  std::size_t settings_ = 0;  // the number of the present settings
  mutable HashedModel model_{job};  // mutable: it has buffers, but they do not change its results
  std::size_t budget_ = 0;
  std::vector<distrib::SharedBuffer> initial_;  // by shard; empty: no custom values
  mutable std::map<History, State> states_;  // the states that were computed
};

}  // namespace simulation
