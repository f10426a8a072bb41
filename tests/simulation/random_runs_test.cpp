// SPDX-License-Identifier: Apache-2.0
#include "simulation/carrier.hpp"

#include <distrib/core/crc32c.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/reduce.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/ps/async_shard_core.hpp>
#include <distrib/ps/async_worker_core.hpp>
#include <distrib/ps/sync_shard_core.hpp>
#include <distrib/ps/sync_worker_core.hpp>

#include "support/catch.hpp"

#include <cstdlib>

using namespace distrib;
using simulation::Dice;
using simulation::Disk;

namespace {

auto hash(std::uint64_t seed, ByteView bytes) -> std::uint64_t {
  std::uint64_t h = seed;
  for (std::size_t at = 0; at + 8 <= bytes.size(); at += 8)
    h = (h ^ load_le<std::uint64_t>(bytes.data() + at)) * 0x9e3779b97f4a7c15U;
  return Dice{h}.next();
}

auto hash(Step step, Rank rank, std::span<const SharedBuffer> values) -> std::uint64_t {
  std::uint64_t h = step * 1000 + rank;
  for (const SharedBuffer& block : values) h = hash(h, block->bytes());
  return h;
}

/// Any finite number of about 1, its sign and 24 bits random.
auto number(std::uint64_t random) -> float {
  return static_cast<float>(static_cast<std::int64_t>(random >> 39) - (1 << 24)) / (1 << 24);
}

auto layouts_of(const Job& job) -> std::vector<ShardLayout> {
  std::vector<ShardLayout> layouts;
  for (std::uint32_t shard = 0; shard < job.shards(); ++shard) layouts.emplace_back(job, shard);
  return layouts;
}

/// Synchronous: values that hash everything, and what they must be, worked out without any core.
class Synchronous {
 public:
  using Shard = SyncShardCore;
  using Worker = SyncWorkerCore;
  static constexpr bool survives_lost_disks = true;
  Job job;

  explicit Synchronous(Dice& dice) : job{make_job(dice)} {
    std::size_t step_bytes = 0;
    for (const ShardLayout& layout : layouts_) step_bytes += layout.block_bytes();
    budget_ = dice.pick<std::size_t>({0, step_bytes, 3 * step_bytes, 2 * job.cut_interval * step_bytes, 1 << 20});
    work_out();
  }

  [[nodiscard]] auto first_disk(std::uint32_t shard) const -> Disk { return {{0, truth_[0][shard]}}; }

  [[nodiscard]] auto shard(std::uint32_t shard, const Disk& disk) const -> std::unique_ptr<Shard> {
    if (disk.size() == 1 && disk.contains(0)) return std::make_unique<Shard>(job, shard, JobUpdaters{updater_});
    std::vector<Step> cuts;
    for (const auto& entry : disk) cuts.push_back(entry.first);
    return std::make_unique<Shard>(job, shard, JobUpdaters{updater_}, disk.rbegin()->second, std::move(cuts));
  }

  [[nodiscard]] auto worker(Rank rank) const -> std::unique_ptr<Worker> {
    return std::make_unique<Worker>(job, rank, WorkerOptions{.replay_budget_bytes = budget_, .wants_result = rank == 0});
  }

  [[nodiscard]] auto contribution(Step step, Rank rank, std::span<const SharedBuffer> values) const
      -> std::vector<SharedBuffer> {
    std::vector<SharedBuffer> blocks;
    Dice random{hash(step, rank, values)};
    for (const ShardLayout& layout : layouts_) {
      auto block = std::make_shared<AlignedBuffer>(layout.block_bytes());
      for (float& element : block->as<float>()) element = number(random.next());
      blocks.push_back(std::move(block));
    }
    return blocks;
  }

  [[nodiscard]] auto good_values(const Shard&, std::uint32_t shard, Rank, const ValuesReply& reply) const -> bool {
    return reply.step <= job.total_steps && same(*reply.block, *truth_[reply.step][shard].values);
  }

  [[nodiscard]] auto good_cut(std::uint32_t shard, const Cut& cut) const -> bool {
    // A shard without parts has no slots.
    if (cut.step > job.total_steps || cut.slots.size() != layouts_[shard].groups().size()) return false;
    const Cut& truth = truth_[cut.step][shard];
    return same(*cut.values, *truth.values) && (cut.slots.empty() || same(*cut.slots[0], *truth.slots[0]));
  }

  [[nodiscard]] auto good_result(std::uint32_t shard, const AlignedBuffer& block, const Disk&) const -> bool {
    return same(block, *truth_[job.total_steps][shard].values);
  }

  [[nodiscard]] auto holds_all_of(Rank, std::uint32_t shard, const Disk& disk) const -> bool {
    return disk.contains(job.total_steps) && good_cut(shard, disk.at(job.total_steps));
  }

 private:
  static auto make_job(Dice& dice) -> Job {
    Job job;
    job.seed = dice.next();
    job.tasks = static_cast<std::uint32_t>(dice.between(1, 2));
    job.shards_per_task = static_cast<std::uint32_t>(dice.between(1, 2));
    job.ranks = static_cast<Rank>(dice.between(1, 4));
    job.total_steps = dice.between(3, 14);
    job.cut_interval = dice.below(6);
    job.variables = {{"a", DType::float32, {5, 3}, UniformInitializer{}},
                     {"b", DType::float32, {7}, UniformInitializer{}},
                     {"c", DType::float32, {}, ConstantInitializer{0.5F}}};
    const auto shard = [&] { return static_cast<std::uint32_t>(dice.below(job.shards())); };
    const auto cut = static_cast<std::int64_t>(dice.below(6));
    job.parts = {{0, Slice::along({5, 3}, 0, 0, cut), shard()},
                 {0, Slice::along({5, 3}, 0, cut, 5 - cut), shard()},
                 {1, Slice::whole({7}), shard()},
                 {2, Slice::whole({}), shard()}};
    return job;
  }

  void work_out() {
    for (const ShardLayout& layout : layouts_)
      truth_[0].push_back({0,
                           std::make_shared<AlignedBuffer>(initial_values(job, layout)),
                           {std::make_shared<AlignedBuffer>(layout.block_bytes())},
                           {}});
    for (Step step = 1; step <= job.total_steps; ++step) {
      std::vector<SharedBuffer> values;
      for (const Cut& cut : truth_.back()) values.push_back(cut.values);
      std::vector<std::vector<SharedBuffer>> contributions;
      for (Rank rank = 0; rank < job.ranks; ++rank) contributions.push_back(contribution(step, rank, values));
      std::vector<Cut> next;
      for (std::size_t shard = 0; shard < layouts_.size(); ++shard) {
        const std::size_t size = layouts_[shard].block_bytes();
        auto to = std::make_shared<AlignedBuffer>(size);
        auto slot = std::make_shared<AlignedBuffer>(size);
        std::ranges::copy(truth_.back()[shard].slots[0]->bytes(), slot->bytes().begin());
        AlignedBuffer mean{size};
        std::vector<std::span<const float>> blocks;
        for (const auto& of_rank : contributions) blocks.push_back(of_rank[shard]->as<float>());
        reduce_mean(blocks, mean.as<float>());
        const std::span<float> slots[] = {slot->as<float>()};
        updater_.apply({step}, mean.as<float>(), values[shard]->as<float>(), to->as<float>(), slots);
        next.push_back({step, std::move(to), {std::move(slot)}, {}});
      }
      truth_.push_back(std::move(next));
    }
  }

  static auto same(const AlignedBuffer& a, const AlignedBuffer& b) -> bool {
    return std::ranges::equal(a.bytes(), b.bytes());
  }

  Momentum updater_{.learning_rate = Linear{0.5F, 0.01F, 14}};
  std::vector<ShardLayout> layouts_ = layouts_of(job);
  std::size_t budget_ = 0;
  std::vector<std::vector<Cut>> truth_ = std::vector<std::vector<Cut>>(1);  // by step, by shard
};

/// Asynchronous and stale-synchronous: each shard has a table with a row for each rank, in which a contribution counts
/// one, its step and its step's square; and a number that depends on all values, as gradients do.
class Asynchronous {
 public:
  using Shard = AsyncShardCore;
  using Worker = AsyncWorkerCore;
  static constexpr bool survives_lost_disks = false;  // a worker that trusted one may have gone home
  Job job;

  explicit Asynchronous(Dice& dice)
      : staleness_{dice.pick<Step>({0, 1, 2, 3, unbounded_staleness})} {
    job.shards_per_task = static_cast<std::uint32_t>(dice.between(1, 4));
    job.ranks = static_cast<Rank>(dice.between(1, 4));
    job.total_steps = dice.between(3, 12) * job.ranks + dice.below(job.ranks);
    job.cut_interval = dice.below(6) * dice.between(1, job.ranks);
    for (std::uint32_t shard = 0; shard < job.shards(); ++shard) {
      const Shape shape{job.ranks, columns};
      job.variables.push_back({"table" + std::to_string(shard), DType::float32, shape, ZerosInitializer{}});
      job.parts.push_back({shard, Slice::whole(shape), shard});
    }
    const std::size_t step_bytes = job.shards() * ShardLayout{job, 0}.block_bytes();
    budget_ = dice.pick<std::size_t>({0, step_bytes, 2 * step_bytes, 4 * step_bytes, 1 << 20});
  }

  [[nodiscard]] auto first_disk(std::uint32_t) const -> Disk { return {}; }

  [[nodiscard]] auto shard(std::uint32_t shard, const Disk& disk) const -> std::unique_ptr<Shard> {
    if (disk.empty()) return std::make_unique<Shard>(job, shard, JobUpdaters{updater_}, staleness_);
    return std::make_unique<Shard>(job, shard, JobUpdaters{updater_}, staleness_, disk.rbegin()->second);
  }

  [[nodiscard]] auto worker(Rank rank) const -> std::unique_ptr<Worker> {
    return std::make_unique<Worker>(job, rank, WorkerOptions{.replay_budget_bytes = budget_, .wants_result = rank == 0});
  }

  [[nodiscard]] auto contribution(Step step, Rank rank, std::span<const SharedBuffer> values) const
      -> std::vector<SharedBuffer> {
    std::vector<SharedBuffer> blocks;
    for (std::uint32_t shard = 0; shard < job.shards(); ++shard) {
      auto block = std::make_shared<AlignedBuffer>(values[shard]->size());
      const auto s = static_cast<float>(step);
      std::ranges::copy(std::array<float, columns>{1, s, s * s, number(hash(step, rank, values))},
                        block->as<float>().begin() + rank * columns);
      blocks.push_back(std::move(block));
    }
    return blocks;
  }

  [[nodiscard]] auto good_values(const Shard& core, std::uint32_t, Rank rank, const ValuesReply& reply) const -> bool {
    std::vector<Step> applied;
    Step slowest = reply.step;
    for (Rank other = 0; other < job.ranks; ++other) {
      applied.push_back(core.progress(other).done);
      if (other != rank) slowest = std::min(slowest, applied.back());
    }
    if (reply.step == end_of_job) return counted_once(*reply.block, applied);
    return reply.step - slowest <= staleness_ && counted_once(*reply.block, applied);
  }

  [[nodiscard]] auto good_cut(std::uint32_t, const Cut& cut) const -> bool {
    return counted_once(*cut.values, cut.applied);
  }

  [[nodiscard]] auto good_result(std::uint32_t, const AlignedBuffer& block, const Disk& disk) const -> bool {
    std::vector<Step> all;
    for (Rank rank = 0; rank < job.ranks; ++rank) all.push_back(job.steps_of(rank));
    return counted_once(block, all) && !disk.empty() &&
           std::ranges::equal(block.bytes(), disk.rbegin()->second.values->bytes());
  }

  [[nodiscard]] auto holds_all_of(Rank rank, std::uint32_t, const Disk& disk) const -> bool {
    if (disk.empty()) return false;
    const Cut& last = disk.rbegin()->second;
    return last.applied[rank] == job.steps_of(rank) && counted_once(*last.values, last.applied);
  }

 private:
  static constexpr std::int64_t columns = 4;

  // Sgd at rate 1 takes gradients away; all these sums are exact.
  static auto counted_once(const AlignedBuffer& block, std::span<const Step> applied) -> bool {
    for (std::size_t rank = 0; rank < applied.size(); ++rank) {
      const auto row = block.as<float>().subspan(rank * columns, columns);
      const Step n = applied[rank];
      const Step expected[] = {n, n * (n + 1) / 2, n * (n + 1) * (2 * n + 1) / 6};
      for (std::size_t i = 0; i < 3; ++i)
        if (-row[i] != static_cast<float>(expected[i])) return false;
    }
    return true;
  }

  Step staleness_;
  Sgd updater_{.learning_rate = 1.0F};
  std::size_t budget_;
};

template <class Rules>
void run_seeds(std::uint64_t first, std::uint64_t count) {
  std::uint64_t wrong = 0;
  for (std::uint64_t seed = first; seed < first + count && wrong < 5; ++seed) {
    const std::string what = simulation::Carrier<Rules>{seed}.run();
    if (what.empty()) continue;
    ++wrong;
    CAPTURE(seed);
    CHECK(what == "");
  }
  CHECK(wrong == 0);
}

#ifdef NDEBUG
constexpr std::uint64_t seeds = 10'000;
#else
constexpr std::uint64_t seeds = 200;
#endif

}  // namespace

TEST_CASE("Random runs: a synchronous job ends with the same bits, whatever happens", "[simulation]") {
  run_seeds<Synchronous>(0, seeds);
}

TEST_CASE("Random runs: an asynchronous job counts each contribution once, whatever happens", "[simulation]") {
  run_seeds<Asynchronous>(0, seeds);
}

TEST_CASE("Random runs: many seeds", "[.][simulation]") {
  run_seeds<Synchronous>(0, 100'000);
  run_seeds<Asynchronous>(0, 100'000);
}
