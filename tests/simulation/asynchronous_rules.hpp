// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulation/carrier.hpp"
#include "simulation/hashed_model.hpp"
#include "simulation/table_oracle.hpp"

#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/ps/job/initial_blocks.hpp>
#include <distrib/ps/job/table_share.hpp>
#include <distrib/ps/protocol/async_shard_core.hpp>
#include <distrib/ps/protocol/async_worker_core.hpp>
#include <distrib/ps/protocol/batch_keys.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <numeric>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace simulation {

/// Asynchronous and stale-synchronous jobs.
///
/// Each shard has a variable with a row for each rank. A contribution adds to the row of its rank one, its step, the
/// square of its step, and a number that depends on all values, as gradients do. Each shard's counter gets the first
/// three too.
///
/// Half of the jobs have tables. In each table every rank has a key of its own on each shard, which counts the same,
/// and all ranks have one common key. "words" has any keys and `min_count`; "items" has numbered keys and momentum; a
/// key of "rare" is used only in its rank's first step, and is evicted if the job is long enough. A fifth of the jobs
/// also have numbers that start with custom values and never change.
///
/// `ShardCore` and `WorkerCore` may be cores with a mistake.
template <class ShardCore = distrib::AsyncShardCore, class WorkerCore = distrib::AsyncWorkerCore>
class Asynchronous {
 public:
  using Shard = ShardCore;
  using Worker = WorkerCore;
  static constexpr bool survives_lost_disks = false;  // a worker that relied on a lost disk may have ended
  distrib::Job job;

  explicit Asynchronous(Dice& dice)
      : job{make_job(dice)},
        staleness_{dice.pick<Step>({0, 1, 3, unbounded, unbounded})},
        barrier_every_{dice.pick<Step>({0, 1, 3, 3, 5})} {
    using namespace distrib;
    if (staleness_ != unbounded) barrier_every_ = 0;
    job.consistency = AsynchronousParallel{.barrier_every = barrier_every_};
    if (staleness_ != unbounded) job.consistency = StaleSynchronousParallel{.staleness = staleness_};
    for (const distrib::TableInfo& table : job.tables) find_keys(table);
    std::size_t step_bytes = job.shards() * layouts_[0].block_bytes();
    if (has_tables()) step_bytes += 512 * job.shards();
    budget_ = dice.pick<std::size_t>({0, step_bytes, 2 * step_bytes, 4 * step_bytes, 1 << 20});
    const distrib::ByteView whole = std::as_bytes(std::span{start});
    initial_ = set_initial_values(job, std::vector(job.variables.size(), whole));
  }
  Asynchronous(const Asynchronous&) = delete;
  auto operator=(const Asynchronous&) -> Asynchronous& = delete;

  [[nodiscard]] auto layouts() const -> const std::vector<distrib::ShardLayout>& { return layouts_; }
  [[nodiscard]] auto first_disk(std::uint32_t) const -> Disk { return {}; }

  [[nodiscard]] auto shard(std::uint32_t shard, const Disk& disk) const -> std::unique_ptr<Shard> {
    if (disk.empty()) return std::make_unique<Shard>(job, shard, updaters_);
    return std::make_unique<Shard>(job, shard, updaters_, disk.rbegin()->second);
  }

  [[nodiscard]] auto worker(Rank rank) const -> std::unique_ptr<Worker> {
    return std::make_unique<Worker>(
        job, rank,
        distrib::WorkerOptions{.replay_budget_bytes = budget_, .initial_values = initial_, .wants_result = rank == 0});
  }

  /// Returns all rows that exist; the contribution changes the rows of its rank.
  [[nodiscard]] auto wanted(Step step, Rank rank) const -> std::vector<distrib::WantedRows> {
    if (!has_tables()) return {};
    find(step, rank);
    return keys_.wanted();
  }

  [[nodiscard]] auto contribution(Step step, Rank rank, std::span<const distrib::SharedBuffer> values) const
      -> std::vector<distrib::SharedBuffer> {
    std::vector<std::shared_ptr<distrib::AlignedBuffer>> blocks;
    const auto s = static_cast<float>(step);
    const std::array<float, columns> counts{1, s, s * s, number(hash(step, rank, values))};
    if (has_tables()) find(step, rank);
    for (std::uint32_t shard = 0; shard < job.shards(); ++shard) {
      auto& block = blocks.emplace_back(std::make_shared<distrib::AlignedBuffer>(layouts_[shard].block_bytes()));
      if (has_tables()) keys_.begin(shard, *block);
      std::ranges::copy(counts, block->as<float>().begin() + rank * columns);
      std::ranges::copy(std::array{Step{1}, step, step * step}, counters_of(*block, rank).begin());
    }
    for (std::size_t table = 0; table < job.tables.size(); ++table) {
      Floats rows;  // the same for each row: the numbers say which rank it was
      for (std::size_t row = 0; row < keys_.rows(table); ++row) rows.insert(rows.end(), counts.begin(), counts.end());
      keys_.deal_gradients(blocks, table, rows.data());
    }
    return {blocks.begin(), blocks.end()};
  }

  [[nodiscard]] auto good_input(Step step, Rank rank, std::span<const distrib::SharedBuffer> values) const -> bool {
    if (!has_tables()) return true;
    find(step, rank);
    for (std::size_t shard = 0; shard < values.size(); ++shard)
      if (values[shard]->size() != keys_.wanted()[shard].answer_bytes) return false;
    return true;
  }

  [[nodiscard]] auto good_values(const Shard& core, std::uint32_t shard, Rank rank,
                                 const distrib::ValuesReply& reply) const -> bool {
    std::vector<Step> applied;
    Step slowest = reply.step;
    for (Rank other = 0; other < job.ranks; ++other) {
      applied.push_back(core.progress(other).done);
      if (other != rank) slowest = std::min(slowest, applied.back());
    }
    if (reply.step != distrib::end_of_job && reply.step - slowest > most_ahead(reply.step)) return false;
    return counted_once(*reply.block, applied) && has_rows_of(*reply.block, shard, applied);
  }

  [[nodiscard]] auto good_cut(std::uint32_t shard, const Cut& cut) const -> bool {
    if (cut.applied.size() != job.ranks || !counted_once(*cut.values, cut.applied)) return false;
    for (std::size_t table = 0; table < job.tables.size(); ++table) {
      const std::vector<std::uint64_t> listed = keys_of_cut(cut.tables[table]);
      std::vector<std::uint64_t> known = keys_on_[table][shard];
      std::ranges::sort(known);
      for (const std::uint64_t key : listed)
        if (!std::ranges::binary_search(known, key)) return false;
      for (std::size_t number = 0; number < keys_on_[table][shard].size(); ++number)
        if (!good_row(cut, table, number, entry_of(cut.tables[table], table, keys_on_[table][shard][number])))
          return false;
    }
    return true;
  }

  /// True if the result contains all contributions, and equals the newest cut.
  [[nodiscard]] auto good_result(std::uint32_t shard, const distrib::AlignedBuffer& block, const Disk& disk) const
      -> bool {
    if (disk.empty()) return false;
    std::vector<Step> all;
    for (Rank rank = 0; rank < job.ranks; ++rank) all.push_back(job.steps_of(rank));
    const Cut& last = disk.rbegin()->second;
    const auto dense = block.bytes().first(layouts_[shard].block_bytes());
    return counted_once(block, all) && has_rows_of(block, shard, all) &&
           std::ranges::equal(dense, last.values->bytes());
  }

  [[nodiscard]] auto holds_all_of(Rank rank, std::uint32_t shard, const Disk& disk) const -> bool {
    if (disk.empty()) return false;
    const Cut& last = disk.rbegin()->second;
    return last.applied[rank] == job.steps_of(rank) && good_cut(shard, last);
  }

 private:
  static constexpr Step unbounded = std::numeric_limits<Step>::max();
  static constexpr std::uint32_t columns = 4;
  static constexpr std::array<float, 3> start{7, 11, 13};  // the numbers that never change, on each shard
  enum : std::size_t { words, items, rare };  // numbers of the tables

  /// What a cut has of a key.
  struct Entry {
    std::optional<distrib::KeyUse> use;  // for any keys; empty: the cut does not have the key
    Floats row;  // empty: the key has no row
  };

  [[nodiscard]] auto most_ahead(Step finished) const -> Step {
    return barrier_every_ != 0 && finished % barrier_every_ == 0 ? 0 : staleness_;
  }

  static auto make_job(Dice& dice) -> distrib::Job {
    using namespace distrib;
    Job job;
    job.shards_per_task = static_cast<std::uint32_t>(dice.between(1, 4));
    job.ranks = static_cast<Rank>(dice.between(1, 4));
    job.total_steps = dice.between(3, 12) * job.ranks + dice.below(job.ranks);
    job.cut_interval = dice.below(6) * dice.between(1, job.ranks);
    for (std::uint32_t shard = 0; shard < job.shards(); ++shard) {
      const Shape shape{job.ranks, columns};
      job.variables.push_back({"table" + std::to_string(shard), DType::float32, shape, ZerosInitializer{}});
      job.parts.push_back({shard, Slice::whole(shape), shard});
    }
    for (std::uint32_t shard = 0; shard < job.shards(); ++shard) {
      const Shape shape{job.ranks, 3};
      job.variables.push_back({"counter" + std::to_string(shard), DType::int64, shape, ZerosInitializer{}});
      job.parts.push_back({job.shards() + shard, Slice::whole(shape), shard});
    }
    for (std::uint32_t shard = 0; shard < job.shards() && job.total_steps % 5 == 0; ++shard) {
      job.parts.push_back({job.variables.size(), Slice::whole({3}), shard});
      job.variables.push_back({"start" + std::to_string(shard), DType::float32, {3}, CustomInitializer{}});
    }
    if (dice.percent(50)) return job;
    if (dice.percent(10)) job.total_steps = dice.between(64, 72);
    const auto table = [&](const char* name, std::uint64_t rows, std::uint32_t min_count, std::uint64_t evict_after) {
      job.tables.push_back({name, columns, rows, ZerosInitializer{}, min_count, evict_after});
    };
    table("words", 0, static_cast<std::uint32_t>(dice.between(1, 3)), 0);
    table("items", (job.ranks + 1) * job.shards(), 1, 0);
    table("rare", 0, 1, 1);
    job.updaters_of = {{"items", "momentum"}};
    return job;
  }

  [[nodiscard]] auto has_tables() const -> bool { return !job.tables.empty(); }

  // Finds on each shard a key for each rank, then one for all of them.
  void find_keys(const distrib::TableInfo& table) {
    const distrib::TableSharding sharding{table, job.shards()};
    auto& of_shards = keys_on_.emplace_back(job.shards());
    const auto needs_more = [&](const auto& keys) { return keys.size() <= job.ranks; };
    for (std::uint64_t next = 0; std::ranges::any_of(of_shards, needs_more);) {
      const std::uint64_t key = table.any_key() ? Dice{next}.next() : next;
      ++next;
      auto& keys = of_shards[sharding.shard(key)];
      if (needs_more(keys)) keys.push_back(key);
    }
  }

  void find(Step step, Rank rank) const {
    std::vector<std::vector<std::uint64_t>> lookups(job.tables.size());
    distrib::KeyLists others(job.tables.size());
    for (std::size_t table = 0; table < job.tables.size(); ++table)
      for (const auto& keys : keys_on_[table]) {
        others[table].insert(others[table].end(), keys.begin(), keys.end());
        if (table == rare && step != 1) continue;
        lookups[table].push_back(keys[rank]);
        if (table != rare) lookups[table].push_back(keys.back());
      }
    if (step > job.steps_of(rank)) lookups = {};
    keys_.find(lookups, others, step > job.steps_of(rank));
  }

  // Sgd with a learning rate of 1 subtracts the gradients; all these sums are exact.
  [[nodiscard]] auto counted_once(const distrib::AlignedBuffer& block, std::span<const Step> applied) const -> bool {
    for (const distrib::ShardLayout::Entry& entry : layouts_[0].trained().subspan(1))
      if (!std::ranges::equal(block.as<float>().subspan(entry.offset_bytes / sizeof(float), start.size()), start))
        return false;
    for (std::size_t rank = 0; rank < applied.size(); ++rank)
      if (!is_sum(block.as<float>().subspan(rank * columns, columns), 1, applied[rank]) ||
          !std::ranges::equal(counters_of(block, rank), sums_of(1, applied[rank])))
        return false;
    return true;
  }

  // True if these are the negative sums of the contributions of steps `first` .. `last`.
  static auto is_sum(std::span<const float> row, Step first, Step last) -> bool {
    const auto is_minus = [](Step sum, float found) { return -found == static_cast<float>(sum); };
    return std::ranges::equal(sums_of(first, last), row.first(3), is_minus);
  }
  static auto sums_of(Step first, Step last) -> std::array<Step, 3> {
    std::array<Step, 3> sums{};
    for (Step s = first; s <= last; ++s) sums = {sums[0] + 1, sums[1] + s, sums[2] + s * s};
    return sums;
  }

  // Returns a rank's row of the counter in a block; all shards have the same layout.
  auto counters_of(auto& block, std::size_t rank) const {
    return block.template as<Step>().subspan(layouts_[0].float_bytes() / sizeof(Step) + rank * 3, 3);
  }

  // Weights and slots after `steps` gradients. All products are exact, so every compiler gives the same bits.
  static auto is_momentum(std::span<const float> row, Step steps) -> bool {
    std::array<float, 6> expected{};  // three weights, then their slots
    for (Step step = 1; step <= steps; ++step) {
      const auto s = static_cast<float>(step);
      const std::array<float, 3> gradient{1, s, s * s};
      for (std::size_t i = 0; i < 3; ++i) {
        expected[i + 3] = expected[i + 3] * 0.5F + gradient[i];
        expected[i] -= expected[i + 3];
      }
    }
    return std::ranges::equal(row.first(3), std::span{expected}.first(3)) &&
           (row.size() == columns || std::ranges::equal(row.subspan(columns, 3), std::span{expected}.last(3)));
  }

  // True if the row of a rank, or of all ranks together, shows that each contribution counted once.
  [[nodiscard]] auto good_weights(std::size_t table, std::size_t number, std::span<const float> row,
                                  std::span<const Step> applied) const -> bool {
    const Step all = std::reduce(applied.begin(), applied.end());
    const Step least = job.tables[table].min_count;
    if (number == job.ranks && table == words) return -row[0] == static_cast<float>(all < least ? 0 : all - least + 1);
    if (number == job.ranks) return table == items || row[0] == 0;  // no contribution has the common rare key
    if (table == words) return is_sum(row, least, applied[number]);
    if (table == items) return is_momentum(row, applied[number]);
    return is_sum(row, 1, std::min<Step>(applied[number], 1)) || (all >= 64 && is_sum(row, 1, 0));
  }

  // All existing rows were asked for, so the digests belong to the rows in the block.
  [[nodiscard]] auto has_rows_of(const distrib::AlignedBuffer& block, std::uint32_t shard,
                                 std::span<const Step> applied) const -> bool {
    if (!has_tables()) return true;
    std::size_t at = layouts_[shard].block_bytes();
    for (std::size_t table = 0; table < job.tables.size(); ++table) {
      std::vector<std::uint64_t> keys = keys_on_[table][shard];
      std::ranges::sort(keys);
      for (std::size_t number = 0; number < keys.size(); ++number) {
        const auto place = std::ranges::lower_bound(keys, keys_on_[table][shard][number]) - keys.begin();
        const std::size_t begin = at / sizeof(float) + static_cast<std::size_t>(place) * columns;
        const auto row = block.as<float>().subspan(begin, columns);
        if (!good_weights(table, number, row, applied)) return false;
      }
      at += distrib::detail::aligned_size(keys.size() * columns * sizeof(float));
    }
    const std::size_t digests = distrib::detail::aligned_size(job.tables.size() * sizeof(distrib::TableDigest));
    return block.size() == at || block.size() == at + digests;
  }

  static auto keys_of_cut(const distrib::TableCut& cut) -> std::vector<std::uint64_t> {
    const auto keys = cut.keys->template as<std::uint64_t>();
    return {keys.begin(), keys.end()};
  }

  auto entry_of(const distrib::TableCut& cut, std::size_t table, std::uint64_t key) const -> Entry {
    const std::vector<std::uint64_t> keys = keys_of_cut(cut);
    const auto at = static_cast<std::size_t>(std::ranges::find(keys, key) - keys.begin());
    if (at == keys.size()) return {};
    const std::size_t floats = table == items ? 2 * columns : columns;
    const auto rows = cut.rows->template as<float>();
    Entry entry;
    if (table != items) entry.use = cut.uses->template as<distrib::KeyUse>()[at];
    if ((at + 1) * floats <= rows.size()) {
      const auto row = rows.subspan(at * floats, floats);
      entry.row.assign(row.begin(), row.end());
    }
    return entry;
  }

  [[nodiscard]] auto good_row(const Cut& cut, std::size_t table, std::size_t number, const Entry& entry) const -> bool {
    const Step all = std::reduce(cut.applied.begin(), cut.applied.end());
    Step counted = number == job.ranks ? all : cut.applied[number];
    if (table == rare) counted = number == job.ranks ? 0 : std::min<Step>(counted, 1);
    if (table == items) return !entry.row.empty() && good_weights(table, number, entry.row, cut.applied);
    if (!entry.use) return counted == 0 || (table == rare && all >= 64);  // it may be evicted then
    if (counted == 0 || entry.use->frequency != counted || entry.use->last_use > all / 64) return false;
    if (table == rare && entry.use->last_use < all / 64) return false;  // it must be evicted then
    if (counted < job.tables[table].min_count) return entry.row.empty();
    return !entry.row.empty() && good_weights(table, number, entry.row, cut.applied);
  }

  Step staleness_;
  Step barrier_every_;  // 0: there are no barriers
  distrib::JobUpdaters updaters_{distrib::Sgd{.learning_rate = 1.0F},
                                 distrib::Momentum{.learning_rate = 1.0F, .momentum = 0.5F}};
  std::vector<distrib::ShardLayout> layouts_ = distrib::shard_layouts(job);
  // by table and shard: one key per rank, and one for all
  std::vector<std::vector<std::vector<std::uint64_t>>> keys_on_;
  mutable distrib::BatchKeys keys_{job, layouts_};  // as set by the last `find`
  std::size_t budget_ = 0;
  std::vector<distrib::SharedBuffer> initial_;  // by shard; empty: no custom values
};

}  // namespace simulation
