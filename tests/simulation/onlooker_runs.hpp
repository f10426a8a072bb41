// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "simulation/draw_job.hpp"
#include "simulation/hashed_model.hpp"
#include "simulation/onlookers.hpp"

#include <distrib/core/sha256.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/updater_list.hpp>
#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/ps/protocol/batch_keys.hpp>
#include <distrib/sim/detail/cluster.hpp>
#include <distrib/sim/dice.hpp>
#include <distrib/train/job/local_job.hpp>
#include <distrib/train/job/make_local_job.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <string>
#include <utility>
#include <vector>

/// Runs of a simulated cluster with onlookers, whose looks are compared with local mode.
namespace simulation {

struct LookedJob {
  distrib::Job job;
  distrib::JobUpdaters updaters;
};

inline auto draw_looked_job(std::uint64_t seed, distrib::Consistency consistency, float rate = 0.25F) -> LookedJob {
  using namespace distrib;
  sim::Dice dice{seed};
  const Momentum updater{.learning_rate = rate, .momentum = 0.5F};
  LookedJob drawn{draw_job(dice, 20, 60, updater, consistency), JobUpdaters{updater}};
  Job& job = drawn.job;
  job.wire_format = dice.pick<FloatFormat>({FloatFormat::float32, FloatFormat::bfloat16});
  if (dice.percent(50)) return drawn;
  job.tables = {{"words", 3, 0, UniformInitializer{}}, {"items", 2, dice.between(1, 20), UniformInitializer{}}};
  drawn.updaters = JobUpdaters{updater, updater};
  return drawn;
}

inline auto hash_of_values(const std::vector<distrib::SharedBuffer>& blocks) -> std::string {
  distrib::Sha256 hash;
  for (const distrib::SharedBuffer& block : blocks)
    if (block != nullptr) hash.update(block->bytes());  // null: of a shard without variables
  return distrib::to_hex(hash.finish());
}

/// The rows that onlookers ask for: those of keys that the job often uses, and of keys that it does not.
struct LookedRows {
  explicit LookedRows(const distrib::Job& job) : layouts{distrib::shard_layouts(job)}, keys{job, layouts} {
    distrib::KeyLists wanted(job.tables.size());
    for (std::size_t table = 0; table < wanted.size(); ++table) {
      const bool any = job.tables[table].any_key();
      for (std::uint64_t number = 0; number < (any ? 12 : job.tables[table].rows); ++number)
        wanted[table].push_back(any ? distrib::sim::Dice{number}.next() : number);
    }
    if (!wanted.empty()) keys.find({}, wanted);
  }
  std::vector<distrib::ShardLayout> layouts;
  distrib::BatchKeys keys;

  [[nodiscard]] auto requests(const distrib::Job& job) const -> std::vector<distrib::PullRows> {
    return job.tables.empty() ? std::vector<distrib::PullRows>{} : keys.requests();
  }
};

/// Trains the job in local mode. Writes to `hashes`, which must be large enough, the hash of the values after each step
/// from the one of `restored` on; empty: from step 0. Returns the cuts of the last step.
inline auto train_locally(const LookedJob& of, std::span<const distrib::Cut> restored, std::vector<std::string>& hashes)
    -> std::vector<distrib::Cut> {
  using namespace distrib;
  const Job& job = of.job;
  HashedModel model{job};
  const LookedRows looked{job};
  const std::vector<PullRows> rows = looked.requests(job);
  std::vector<Cut> last;
  std::unique_ptr<LocalJob> local;
  LocalJobCallbacks callbacks;
  if (!job.tables.empty()) callbacks.prepare = [&](Rank rank, Step step) { return model.wanted(step, rank); };
  callbacks.step_done = [](Step, float) {};
  callbacks.cut_due = [&](Step step, const std::vector<Cut>& cuts) {
    if (step == job.total_steps) last = cuts;
    local->in_background([] {}, [&local, step] { local->cut_saved(step); });
  };
  local = make_local_job(
      job, {of.updaters}, restored,
      [&](Rank rank, Step step, std::span<const SharedBuffer> values,
          std::span<const std::shared_ptr<AlignedBuffer>> gradients) {
        // Rank 0 has not contributed to this step, so all shards are at the step before it.
        if (rank == 0) hashes[step - 1] = hash_of_values(local->values(rows));
        const auto blocks = model.contribution(step, rank, values);
        for (std::size_t shard = 0; shard < values.size(); ++shard) {
          gradients[shard]->resize(blocks[shard]->size());
          std::ranges::copy(blocks[shard]->bytes(), gradients[shard]->bytes().begin());
        }
        return 0.0F;
      },
      std::move(callbacks), nullptr);
  while (local->next()) local->make();
  hashes[job.total_steps] = hash_of_values(local->values(rows));
  return last;
}

/// Returns the hash of the values after each step, from step 0 on, of the same job in local mode.
inline auto local_values(const LookedJob& of) -> std::vector<std::string> {
  std::vector<std::string> hashes(of.job.total_steps + 1);
  train_locally(of, {}, hashes);
  return hashes;
}

/// The same, of a job that is continued as `after` from step `since`.
inline auto local_values_changed(LookedJob before, const LookedJob& after, distrib::Step since)
    -> std::vector<std::string> {
  if (since == 0) return local_values(after);
  std::vector<std::string> hashes(after.job.total_steps + 1);
  before.job.total_steps = since;
  const std::vector<distrib::Cut> cuts = train_locally(before, {}, hashes);
  if (since < after.job.total_steps) train_locally(after, cuts, hashes);
  return hashes;
}

/// What was seen in a run.
struct LookedRun {
  std::string wrong;  ///< Empty: nothing.
  unsigned looks = 0;  ///< Complete ones.
  unsigned last = 0;  ///< Of these, of the values at the end.
  unsigned heard = 0;  ///< Onlookers that were told that the job is done.
  unsigned deaths = 0;  ///< Of onlookers.
  std::vector<distrib::SharedBuffer> result;  ///< The values at the end, as rank 0 got them.
  distrib::sim::Outcome outcome;
};

/// Trains the job in a simulated cluster with three onlookers. `check(seen)`: returns what is wrong with a look.
template <class Core>
auto look_on(const LookedJob& of, const LookedJob* after, const distrib::sim::Options& options,
             const std::function<std::string(const distrib::LookedAt&)>& check) -> LookedRun {
  using namespace distrib;
  namespace simulated = sim::detail;
  HashedModel model{of.job};
  LookedRun run;
  const auto started = [&](const Job& job) -> simulated::StartedJob {
    return {job, shard_kinds(StandardUpdaters{}), [&](Rank rank) -> simulated::Program {
              return {[&model, rank](Step step) { return model.wanted(step, rank); },
                      [&model, rank](const Compute& work) { return model.contribution(work.step, rank, work.values); },
                      [&run](std::vector<SharedBuffer> values) { run.result = std::move(values); }};
            }};
  };
  const LookedRows looked{of.job};
  const OnlookerWork work{after != nullptr ? after->job : of.job,
                          of.job.tables.empty() ? std::vector<WantedRows>{} : looked.keys.wanted(),
                          [&](const LookedAt& seen) {
                            ++run.looks;
                            run.last += seen.is_last ? 1 : 0;
                            if (run.wrong.empty()) run.wrong = check(seen);
                          },
                          [&] { ++run.heard; },
                          [&](const std::string& what) {
                            if (run.wrong.empty()) run.wrong = what;
                          }};
  simulated::Cluster cluster{started(of.job), {}, options};
  if (after != nullptr) cluster.change_to(started(after->job));
  const Onlookers<Core> onlookers{cluster.world(), work, options.seed + 77, 3};
  run.outcome = cluster.run();
  // What servers have said before they ended is still on its way to onlookers.
  const Instant until = cluster.world().now() + std::chrono::seconds{run.outcome.wrong.empty() ? 2 : 0};
  while (cluster.world().now() < until && cluster.world().scheduler.step()) {
  }
  run.deaths = onlookers.deaths();
  if (run.wrong.empty()) run.wrong = run.outcome.wrong;
  return run;
}

/// Returns what is wrong with a look at a synchronous job whose values, by step, have these hashes.
inline auto unlike_local(const distrib::LookedAt& seen, const std::vector<std::string>& local) -> std::string {
  const std::string at = "a look at step " + std::to_string(seen.step);
  if (seen.step >= local.size()) return at + ": the job has no such step";
  if (!seen.is_one_step) return at + ": of no step";
  if (hash_of_values(seen.blocks) != local[seen.step]) return at + ": not the values of local mode";
  if (seen.is_last != (seen.step + 1 == local.size())) return at + ": takes it for the end, or the end for another";
  return {};
}

/// Faults without zombies: see `tests/simulation/cluster_test.cpp`.
inline auto looked_faults(std::uint64_t seed) -> distrib::sim::Faults {
  distrib::sim::Dice dice{seed};
  distrib::sim::Faults faults = distrib::sim::Faults::drawn(dice);
  faults.zombies = 0;
  return faults;
}

/// A whole run of a synchronous job; returns what was wrong.
template <class Core>
auto look_on_synchronous(std::uint64_t seed, LookedRun* told = nullptr) -> std::string {
  const LookedJob of = draw_looked_job(seed, distrib::BulkSynchronousParallel{});
  const std::vector<std::string> local = local_values(of);
  LookedJob of_cluster = of;
  if (seed % 4 == 3) of_cluster.job.replicas = 2;
  LookedRun run = look_on<Core>(of_cluster, nullptr, {.seed = seed, .faults = looked_faults(seed)},
                                [&](const distrib::LookedAt& seen) { return unlike_local(seen, local); });
  if (told != nullptr) *told = run;
  return run.wrong;
}

}  // namespace simulation
