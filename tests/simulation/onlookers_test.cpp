// SPDX-License-Identifier: Apache-2.0
// Onlookers of a simulated cluster. The job ends with the bits of local mode, and each look has the bits of its step.
#include "simulation/onlooker_runs.hpp"

#include "support/catch.hpp"
#include "support/told_seeds.hpp"

#include <algorithm>
#include <cstdint>
#include <functional>
#include <string>
#include <utility>
#include <vector>

using namespace distrib;
using simulation::draw_looked_job;
using simulation::look_on;
using simulation::look_on_synchronous;
using simulation::LookedJob;
using simulation::LookedRun;

namespace {

#ifdef NDEBUG
constexpr std::uint64_t looked_seeds = 40;  // `tests/run.sh simulation` runs more on request
#else
constexpr std::uint64_t looked_seeds = 5;
#endif
constexpr std::uint64_t enough_looked_seeds = 20;  // with fewer, no number of looks can be expected

auto for_looked_seeds(const std::function<std::string(std::uint64_t)>& wrong_of) -> std::uint64_t {
  const support::ToldSeeds told = support::told_seeds();
  const std::uint64_t count = told.count.value_or(looked_seeds);
  unsigned wrong = 0;
  for (std::uint64_t seed = told.from; seed < told.from + count && wrong < 3; ++seed) {
    CAPTURE(seed);
    const std::string what = wrong_of(seed);
    CHECK(what == "");
    if (!what.empty()) ++wrong;
  }
  return count;
}

}  // namespace

TEST_CASE("Onlookers come, go and die: the job has the bits of local mode, and each look those of its step",
          "[simulation][trainers][onlookers]") {
  unsigned looks = 0;
  unsigned last = 0;
  unsigned deaths = 0;
  unsigned heard = 0;
  const std::uint64_t count = for_looked_seeds([&](std::uint64_t seed) {
    LookedRun run;
    std::string wrong = look_on_synchronous<LookCore>(seed, &run);
    looks += run.looks;
    last += run.last;
    deaths += run.deaths;
    heard += run.heard;
    const LookedJob of = draw_looked_job(seed, BulkSynchronousParallel{});
    if (wrong.empty() && of.job.tables.empty() && simulation::hash_of_values(run.result) != local_values(of).back())
      wrong = "another result than local mode";
    return wrong;
  });
  CAPTURE(looks, last, deaths, heard);
  if (count < enough_looked_seeds) return;
  CHECK(looks > 10 * count);
  CHECK(last > count / 4);
  CHECK(heard > count / 4);
  CHECK(deaths > count);
}

TEST_CASE("Onlookers of a job that is started again with other settings see one history at a time",
          "[simulation][trainers][onlookers]") {
  unsigned looks = 0;
  const std::uint64_t count = for_looked_seeds([&](std::uint64_t seed) {
    const LookedJob before = draw_looked_job(seed, BulkSynchronousParallel{});
    const LookedJob after = draw_looked_job(seed, BulkSynchronousParallel{}, 0.5F);
    std::vector<std::pair<Step, std::string>> seen_at;
    const LookedRun run = look_on<LookCore>(before, &after, {.seed = seed, .faults = simulation::looked_faults(seed)},
                                            [&](const LookedAt& seen) {
                                              seen_at.emplace_back(seen.step, simulation::hash_of_values(seen.blocks));
                                              return std::string{};
                                            });
    looks += run.looks;
    if (!run.wrong.empty() || seen_at.empty()) return run.wrong;
    // A history is one of the old settings up to some step, and of the others after it. A job that goes back far enough
    // may have several in turn.
    std::vector<std::vector<std::string>> histories;
    for (const auto& [step, hash] : seen_at) {
      const auto has = [at = step, &of = hash](const auto& values) { return values[at] == of; };
      Step since = run.outcome.changed_after.value_or(0);
      while (std::ranges::none_of(histories, has) && histories.size() <= before.job.total_steps) {
        histories.push_back(simulation::local_values_changed(before, after, since));
        since = histories.size() - 1;
      }
      if (std::ranges::none_of(histories, has)) return "a look at step " + std::to_string(step) + " has mixed values";
    }
    return std::string{};
  });
  if (count < enough_looked_seeds) return;
  CHECK(looks != 0);
}

TEST_CASE("Onlookers of an asynchronous job, and of one with backup workers, see values, and the job ends",
          "[simulation][trainers][onlookers]") {
  unsigned looks = 0;
  const std::uint64_t count = for_looked_seeds([&](std::uint64_t seed) {
    sim::Dice dice{seed ^ 0xa51};
    const LookedJob of = draw_looked_job(
        seed ^ 0xa51, dice.pick<Consistency>({AsynchronousParallel{}, StaleSynchronousParallel{.staleness = 1},
                                              BulkSynchronousParallel{.replicas_to_aggregate = 2}}));
    Step least = 0;
    const LookedRun run =
        look_on<LookCore>(of, nullptr, {.seed = seed ^ 0xa51, .faults = simulation::looked_faults(seed ^ 0xa51)},
                          [&](const LookedAt& seen) {
                            least = std::max(least, seen.step);
                            return seen.blocks.size() == of.job.shards() && seen.step <= of.job.total_steps &&
                                           seen.is_one_step == of.job.consistency.is_synchronous()
                                       ? std::string{}
                                       : "a look without all values";
                          });
    looks += run.looks;
    return run.wrong;
  });
  if (count < enough_looked_seeds) return;
  CHECK(looks > 10 * count);
}
