// SPDX-License-Identifier: Apache-2.0
#include "simulation/cluster.hpp"
#include "simulation/draw_job.hpp"
#include "simulation/hashed_model.hpp"

#include <distrib/optimizer/adagrad.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/train/job/local_job.hpp>
#include <distrib/train/job/make_local_job.hpp>

#include "support/catch.hpp"
#include "support/told_seeds.hpp"

#include <algorithm>
#include <chrono>
#include <initializer_list>
#include <limits>
#include <string_view>

using namespace distrib;
using sim::Dice;
using simulation::HashedModel;
using simulation::run_cluster;

namespace {

const Momentum updater{.learning_rate = 0.25F, .momentum = 0.5F};
const Adagrad of_items{.learning_rate = 0.25F};

auto make_job(std::uint64_t seed, Consistency consistency) -> Job {
  Dice dice{seed};
  Job job = simulation::draw_job(dice, 6, 24, updater, consistency);
  if (job.seed % 2 == 0) {  // counters
    job.variables.push_back({"n", DType::int64, {3}, {}});
    job.variables.push_back({"m", DType::float64, {2}, {}});
    const auto one = static_cast<std::uint32_t>(job.seed / 2 % job.shards());
    job.parts.push_back({2, Slice::along({3}, 0, 0, 1), one});
    job.parts.push_back({2, Slice::along({3}, 0, 1, 2), 0});
    job.parts.push_back({3, Slice::whole({2}), job.shards() - 1 - one});
  }
  job.wire_format = dice.pick<FloatFormat>({FloatFormat::float32, FloatFormat::bfloat16, FloatFormat::float16});
  if (dice.percent(50)) return job;
  job.tables = {{"words", 3, 0, UniformInitializer{}, static_cast<std::uint32_t>(dice.between(1, 3)), 1},
                {"items", 2, dice.between(1, 20), UniformInitializer{}}};
  if (job.seed % 3 == 0) job.tables[0].kept_as = FloatFormat::bfloat16;
  if (dice.percent(10)) job.total_steps = dice.between(64, 70);  // rows are evicted after update 64
  if (dice.percent(30)) job.row_mean = RowMean::of_all;
  job.updaters_of = {{"items", "adagrad " + of_items.describe()}};
  return job;
}

auto hash_of(const std::vector<SharedBuffer>& blocks) -> std::string {
  Sha256 hash;
  for (const SharedBuffer& block : blocks) hash.update(block->bytes());
  return to_hex(hash.finish());
}

// Returns the hash of the same job in local mode: one process, no socket.
auto local_hash(const Job& job) -> std::string {
  HashedModel model{job};
  std::unique_ptr<LocalJob> local;
  LocalJobCallbacks callbacks;
  callbacks.prepare = [&](Rank rank, Step step) { return model.wanted(step, rank); };
  callbacks.step_done = [](Step, float) {};
  callbacks.cut_due = [&](Step step, const std::vector<Cut>&) {
    local->in_background([] {}, [&local, step] { local->cut_saved(step); });
  };
  local = make_local_job(
      job, {job.tables.empty() ? JobUpdaters{updater} : JobUpdaters{updater, of_items}}, {},
      [&](Rank rank, Step step, std::span<const SharedBuffer> values,
          std::span<const std::shared_ptr<AlignedBuffer>> gradients) {
        const auto blocks = model.contribution(step, rank, values);
        for (std::size_t shard = 0; shard < values.size(); ++shard) {
          gradients[shard]->resize(blocks[shard]->size());
          std::ranges::copy(blocks[shard]->bytes(), gradients[shard]->bytes().begin());
        }
        return 0.0F;
      },
      std::move(callbacks), nullptr);
  while (local->next()) local->make();
  return hash_of(local->values(model.requests(job.total_steps + 1, 0)));
}

/// A model with one contribution that is not finite.
struct SpoiltModel : HashedModel {
  using HashedModel::HashedModel;
  Step step = 0;
  Rank rank = 0;
  std::uint32_t shard = 0;

  auto contribution(Step of_step, Rank of_rank, std::span<const SharedBuffer> values) -> std::vector<SharedBuffer> {
    auto blocks = HashedModel::contribution(of_step, of_rank, values);
    if (of_step != step || of_rank != rank) return blocks;
    auto spoilt = std::make_shared<AlignedBuffer>(blocks[shard]->size());
    std::ranges::copy(blocks[shard]->bytes(), spoilt->data());
    spoilt->as<float>()[0] = std::numeric_limits<float>::quiet_NaN();
    blocks[shard] = std::move(spoilt);
    return blocks;
  }
};

// Returns faults without older processes of a rank (zombies): if a rank has two processes, and a partition keeps one of
// them from some shards, the other process may send all shards back again and again. `tests/sim` and the random runs do
// have zombies.
auto faults_of(std::uint64_t seed) -> sim::Faults {
  Dice dice{seed};
  sim::Faults faults = sim::Faults::drawn(dice);
  faults.zombies = 0;
  return faults;
}

#ifdef NDEBUG
constexpr std::uint64_t seeds = 150;  // `tests/run.sh simulation` runs more on request
#else
constexpr std::uint64_t seeds = 20;
#endif

/// Calls `is_right(seed)` for the requested seeds, until three were wrong. Returns how many are requested.
auto for_seeds(const std::function<bool(std::uint64_t)>& is_right) -> std::uint64_t {
  const support::ToldSeeds told = support::told_seeds();
  const std::uint64_t count = told.count.value_or(seeds);
  unsigned wrong = 0;
  for (std::uint64_t seed = told.from; seed < told.from + count && wrong < 3; ++seed) {
    CAPTURE(seed);
    const bool right = is_right(seed);
    CHECK(right);
    wrong += right ? 0 : 1;
  }
  return count;
}

}  // namespace

TEST_CASE("A simulated cluster ends with the bits of local mode, whatever fails", "[simulation][trainers]") {
  unsigned died = 0;
  unsigned lost = 0;
  const std::uint64_t count = for_seeds([&](std::uint64_t seed) {
    const Job job = make_job(seed, BulkSynchronousParallel{});
    Job of_cluster = job;
    if (seed % 4 == 3) of_cluster.replicas = 2;
    HashedModel model{job};
    const auto run = run_cluster(of_cluster, model, {.seed = seed, .faults = faults_of(seed)});
    died += run.outcome.deaths;
    lost += run.outcome.resets;
    CHECK(run.outcome.wrong == "");
    return run.outcome.wrong.empty() && hash_of(run.result) == local_hash(job);
  });
  if (count < seeds) return;  // with few seeds no number of faults can be expected
  CHECK(died > count / 2);  // there were faults
  CHECK(lost > count);
}

namespace {

/// Jobs whose bits depend on timing: each must end, with values of every shard.
void check_ends(std::uint64_t kind, std::initializer_list<Consistency> consistencies) {
  for_seeds([&](std::uint64_t seed) {
    Dice dice{seed ^ kind};
    const Job job = make_job(seed, dice.pick(consistencies));
    HashedModel model{job};
    const auto run = run_cluster(job, model, {.seed = seed ^ kind, .faults = faults_of(seed ^ kind)});
    CHECK(run.outcome.wrong == "");
    return run.outcome.wrong.empty() && run.result.size() == job.shards();
  });
}

}  // namespace

TEST_CASE("A simulated cluster with backup workers ends, whatever fails", "[simulation][trainers]") {
  check_ends(0xbac0, {BulkSynchronousParallel{.replicas_to_aggregate = 1},
                      BulkSynchronousParallel{.replicas_to_aggregate = 2}});
}

TEST_CASE("A simulated cluster with backup workers ends without those that are lost for good",
          "[simulation][trainers]") {
  unsigned vacant = 0, came_back = 0;
  const std::uint64_t count = for_seeds([&](std::uint64_t seed) {
    Dice dice{seed ^ 0x10557};
    Job job = make_job(seed, BulkSynchronousParallel{});
    job.ranks = static_cast<Rank>(dice.between(2, 5));
    const auto needed = static_cast<std::uint32_t>(dice.between(1, job.ranks - 1));
    job.consistency = BulkSynchronousParallel{.replicas_to_aggregate = needed};
    job.total_steps = dice.between(40, 60);
    HashedModel model{job};
    sim::Options options{.seed = seed, .network = sim::NetworkOptions{}, .lost_after = std::chrono::milliseconds{40}};
    // nothing that keeps other workers away for so long
    options.faults = sim::Faults{.resets = dice.pick({0U, 1U, 3U}),
                                 .worker_deaths = dice.pick({0U, 1U, 3U}),
                                 .ps_deaths = dice.pick({0U, 0U, 1U}),
                                 .losses = 3};
    options.trace = [&](std::string_view line) {
      if (line.find(" goes on without rank ") != std::string_view::npos) ++vacant;
      if (line.find(" starts a lost rank again: ") != std::string_view::npos) ++came_back;
    };
    const auto run = run_cluster(job, model, options);
    CHECK(run.outcome.wrong == "");
    CHECK(run.outcome.contributions == job.total_steps * needed);
    return run.outcome.wrong.empty() && run.result.size() == job.shards();
  });
  if (count < seeds) return;  // with few seeds no number of losses can be expected
  CHECK(vacant > count / 2);
  CHECK(came_back > count / 10);
}

TEST_CASE("A simulated asynchronous cluster ends, whatever fails", "[simulation][trainers]") {
  check_ends(0xa51c, {AsynchronousParallel{}, AsynchronousParallel{.barrier_every = 3},
                      StaleSynchronousParallel{.staleness = 1}});
}

TEST_CASE("A contribution that is not finite ends every worker of a simulated cluster, and is named",
          "[simulation][trainers]") {
  for_seeds([&](std::uint64_t seed) {
    Dice dice{seed ^ 0x4a4};
    Job job = make_job(seed, BulkSynchronousParallel{});
    job.check_numerics = true;
    SpoiltModel model{job};
    model.step = dice.between(2, job.total_steps);
    model.rank = static_cast<Rank>(dice.below(job.ranks));
    model.shard = job.parts[dice.below(3)].shard;  // a shard that has gradients
    const auto run = run_cluster(job, model, {.seed = seed, .faults = sim::Faults{}});
    const std::string where = "shard " + std::to_string(model.shard) + ": step " + std::to_string(model.step) +
                              " of rank " + std::to_string(model.rank) + ", " +
                              ShardLayout{job, model.shard}.entries().front().name;
    CHECK(run.outcome.wrong == "");
    return run.outcome.wrong.empty() && run.refusals == std::vector<std::string>(job.ranks, where);
  });
}
