// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulation/carrier.hpp"
#include "simulation/hashed_model.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/protocol/async_shard_core.hpp>
#include <distrib/ps/protocol/async_worker_core.hpp>
#include <distrib/ps/protocol/rank_log_core.hpp>
#include <distrib/ps/protocol/worker_action.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace simulation {

/// Asynchronous and stale-synchronous jobs whose ranks change while they run. Which contributions there are follows from
/// the entries that are durable at some shard, and from nothing else: of those that they name the first `total_steps`,
/// each with its number.
///
/// Each shard has a variable and a counter with a row for each rank. A contribution adds to the row of its rank one, its
/// step, its number, and a hash of its name and its number. All sums are exact. So every answer and every cut show which
/// contributions were counted, how often, and by which number.
///
/// The cores may have a mistake.
template <class ShardCore = distrib::AsyncShardCore, class WorkerCore = distrib::AsyncWorkerCore>
class ScaledAsynchronous {
 public:
  using Shard = ShardCore;
  using Worker = WorkerCore;
  static constexpr bool scales = true;
  static constexpr bool survives_lost_disks = false;
  distrib::Job job;

  explicit ScaledAsynchronous(Dice& dice)
      : job{make_job(dice)},
        staleness_{dice.pick<Step>({0, 1, 3, unbounded, unbounded})},
        barrier_every_{dice.pick<Step>({0, 0, 1, 3, 5})},
        steps_ahead_{dice.pick<Step>({1, 1, 2, 4})} {
    if (staleness_ != unbounded) barrier_every_ = 0;
    job.consistency = distrib::AsynchronousParallel{.barrier_every = barrier_every_};
    if (staleness_ != unbounded) job.consistency = distrib::StaleSynchronousParallel{.staleness = staleness_};
    const std::size_t step_bytes = job.shards() * layouts_[0].block_bytes();
    budget_ = dice.pick<std::size_t>({0, step_bytes, 2 * step_bytes, 4 * step_bytes, 1 << 20});
  }
  ScaledAsynchronous(const ScaledAsynchronous&) = delete;
  auto operator=(const ScaledAsynchronous&) -> ScaledAsynchronous& = delete;
  virtual ~ScaledAsynchronous() = default;

  [[nodiscard]] auto layouts() const -> const std::vector<distrib::ShardLayout>& { return layouts_; }
  [[nodiscard]] auto first_disk(std::uint32_t) const -> Disk { return {}; }

  [[nodiscard]] auto shard(std::uint32_t shard, const Disk& disk) const -> std::unique_ptr<Shard> {
    if (disk.empty()) return std::make_unique<Shard>(job, shard, updaters_);
    return std::make_unique<Shard>(job, shard, updaters_, disk.rbegin()->second);
  }
  [[nodiscard]] auto worker(Rank rank) const -> std::unique_ptr<Worker> {
    return std::make_unique<Worker>(
        job, rank,
        distrib::WorkerOptions{.replay_budget_bytes = budget_, .initial_values = {}, .wants_result = rank == 0});
  }

  /// A shard starts with this file. A mistake may change it; `newest` is the newest step that the shard's cut has.
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

  [[nodiscard]] auto wanted(Step, Rank) const -> std::vector<distrib::WantedRows> { return {}; }
  [[nodiscard]] auto good_input(Step, Rank, std::span<const distrib::SharedBuffer>) const -> bool { return true; }

  [[nodiscard]] virtual auto contribution_of(const distrib::Compute& work, Rank rank) const
      -> std::vector<distrib::SharedBuffer> {
    std::vector<distrib::SharedBuffer> blocks;
    const Row row = row_of(work.step, rank, work.number);
    for (const distrib::ShardLayout& layout : layouts_) {
      const auto block = std::make_shared<distrib::AlignedBuffer>(layout.block_bytes());
      std::ranges::copy(std::array{1.0F, static_cast<float>(work.step)}, block->as<float>().begin() + rank * 2);
      std::ranges::copy(row, counters_of(*block, rank).begin());
      blocks.push_back(block);
    }
    return blocks;
  }

  /// True if each contribution is in the values once, and if the asking rank is no further ahead than it may be.
  [[nodiscard]] auto good_values(const Shard& core, std::uint32_t, Rank rank, const distrib::ValuesReply& reply) const
      -> bool {
    std::vector<Step> applied;
    for (Rank other = 0; other < job.most_ranks; ++other) applied.push_back(core.progress(other).done);
    if (reply.step != distrib::end_of_job) {
      Step slowest = reply.step;
      const distrib::RankLog& known = *core.progress(0).ranks;
      for (Rank other = 0; other < job.most_ranks; ++other) {
        const Step next = known.next_step(applied[other], other, job.total_steps);
        if (other != rank && next != 0) slowest = std::min(slowest, next - 1);
      }
      const bool at_barrier = barrier_every_ != 0 && reply.step % barrier_every_ == 0;
      if (reply.step - slowest > (at_barrier ? 0 : staleness_)) return false;
    }
    return counted_once(*reply.block, applied);
  }

  [[nodiscard]] virtual auto good_cut(std::uint32_t, const Cut& cut) const -> bool {
    if (cut.applied.size() != job.most_ranks + 1 || cut.applied.back() != job.ranks) return false;
    const std::span<const Step> applied{cut.applied.data(), job.most_ranks};
    Step all = 0;
    for (Rank rank = 0; rank < job.most_ranks; ++rank) all += made(rank, applied[rank]).row[0];
    return cut.step == all && counted_once(*cut.values, applied);
  }

  /// True if the result has the first `total_steps` contributions, and equals the newest cut.
  [[nodiscard]] auto good_result(std::uint32_t, const distrib::AlignedBuffer& block, const Disk& disk) const -> bool {
    if (disk.empty() || disk.rbegin()->first != job.total_steps) return false;
    return std::ranges::equal(block.bytes(), disk.rbegin()->second.values->bytes());
  }

  /// With `good_cut`: the last cut has as many contributions as the job, each once, and of this rank all.
  [[nodiscard]] auto holds_all_of(Rank rank, std::uint32_t shard, const Disk& disk) const -> bool {
    if (disk.empty()) return false;
    const Cut& last = disk.rbegin()->second;
    return last.step == job.total_steps && log_.next_step(last.applied[rank], rank, job.total_steps) == 0 &&
           good_cut(shard, last);
  }

 protected:
  virtual void change_file(ShardCore&, std::optional<distrib::RankFile>&, Step) const {}

 private:
  using Row = std::array<std::uint64_t, 4>;
  static constexpr Step unbounded = std::numeric_limits<Step>::max();

  static auto make_job(Dice& dice) -> distrib::Job {
    using namespace distrib;
    Job made;
    made.shards_per_task = static_cast<std::uint32_t>(dice.between(1, 4));
    made.most_ranks = static_cast<std::uint32_t>(dice.between(1, 6));
    made.ranks = static_cast<Rank>(dice.between(1, made.most_ranks));
    made.total_steps = dice.between(4, 16) * made.ranks + dice.below(made.most_ranks);
    made.cut_interval = dice.below(6) * dice.between(1, made.ranks);
    for (std::uint32_t shard = 0; shard < made.shards(); ++shard) {
      const Shape shape{made.most_ranks, 2};
      made.variables.push_back({"table" + std::to_string(shard), DType::float32, shape, ZerosInitializer{}});
      made.parts.push_back({shard, Slice::whole(shape), shard});
    }
    for (std::uint32_t shard = 0; shard < made.shards(); ++shard) {
      const Shape shape{made.most_ranks, 4};
      made.variables.push_back({"counter" + std::to_string(shard), DType::int64, shape, ZerosInitializer{}});
      made.parts.push_back({made.shards() + shard, Slice::whole(shape), shard});
    }
    return made;
  }

  // What a contribution adds to the counter of its rank. Sums wrap around.
  static auto row_of(Step step, Rank rank, std::uint64_t number) -> Row {
    return {1, step, number, Dice{step * 1'000'003 + rank * 7919 + number * 15'485'863}.next()};
  }

  // Sums over the contributions of a rank: of the rows, and of the gradients 1 and `step`, which have a learning rate.
  struct Made {
    Row row = {};
    std::array<double, 2> gradients = {};
  };

  // The sums up to a step, by the log. Counted step by step, unlike `RankLog::number_of`.
  [[nodiscard]] auto made(Rank rank, Step last) const -> Made {
    Made sums;
    std::uint64_t number = 0;
    for (Step step = 1; step <= last; ++step)
      for (const Rank one : log_.entry_of(step)->ranks) {
        if (one == rank && number < job.total_steps) {
          const Row row = row_of(step, rank, number);
          for (std::size_t i = 0; i < row.size(); ++i) sums.row[i] += row[i];
          const double factor = drawn_factor(*log_.entry_of(step), step);
          sums.gradients[0] += factor;
          sums.gradients[1] += factor * static_cast<double>(step);
        }
        ++number;
      }
    return sums;
  }

  // Sgd with a learning rate of 1 subtracts the gradients. All numbers are exact.
  [[nodiscard]] auto counted_once(const distrib::AlignedBuffer& block, std::span<const Step> applied) const -> bool {
    for (Rank rank = 0; rank < applied.size(); ++rank) {
      const Made sums = made(rank, applied[rank]);
      const std::span<const float> floats = block.as<float>().subspan(rank * 2, 2);
      if (-floats[0] != sums.gradients[0] || -floats[1] != sums.gradients[1]) return false;
      if (!std::ranges::equal(counters_of(block, rank), sums.row)) return false;
    }
    return true;
  }

  // Returns a rank's row of the counter in a block; all shards have the same layout.
  auto counters_of(auto& block, std::size_t rank) const {
    return block.template as<std::uint64_t>().subspan(layouts_[0].float_bytes() / sizeof(std::uint64_t) + rank * 4, 4);
  }

  Step staleness_;
  Step barrier_every_;  // 0: there are no barriers
  Step steps_ahead_;
  distrib::RankLog log_{this->job.ranks};
  distrib::JobUpdaters updaters_{distrib::Sgd{.learning_rate = 1.0F}};
  std::vector<distrib::ShardLayout> layouts_ = distrib::shard_layouts(job);
  std::size_t budget_ = 0;
};

}  // namespace simulation
