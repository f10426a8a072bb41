// SPDX-License-Identifier: Apache-2.0
// Ranks that change, in the simulated cluster: services, nodes, messages and files of production.
#include "simulation/cluster.hpp"
#include "simulation/scaled_rules.hpp"

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "support/told_seeds.hpp"

#include <distrib/core/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/parse_job.hpp>
#include <distrib/ps/job/rank_file.hpp>
#include <distrib/ps/protocol/any_shard.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>

namespace {

#ifdef NDEBUG
constexpr std::uint64_t scaled_seeds = 100;
#else
constexpr std::uint64_t scaled_seeds = 20;
#endif

/// What the runs of some seeds had.
struct ScaledCount {
  std::uint64_t jobs = 0;
  std::uint64_t entries = 0;
  std::uint64_t results = 0;  ///< The process of rank 0 may come too late, if others make the last step.
  std::uint64_t wrong = 0;
};

/// Runs seeds until three were wrong. Each fourth run keeps its cuts and its log of the ranks in files on a simulated
/// disk, the others in memory.
void run_scaled(std::uint64_t from, std::uint64_t count, ScaledCount& all) {
  const support::TempDirectory directory;
  for (std::uint64_t seed = from; seed < from + count && all.wrong < 3; ++seed) {
    CAPTURE(seed);
    simulation::Dice dice{seed};
    simulation::ScaledRanks<> rules{dice};
    distrib::Error unlike;
    static_cast<void>(distrib::parse_job(to_text(rules.job), unlike));
    if (unlike) continue;  // with an empty part, which a parameter server refuses
    distrib::sim::Faults faults = distrib::sim::Faults::drawn(dice);
    faults.zombies = 0;
    faults.scalings = dice.pick<unsigned>({0, 1, 2, 4, 8});
    distrib::sim::Options options{.seed = seed, .faults = faults};
    if (seed % 4 == 3) options.directory = directory.path().string();
    const auto kinds = [&rules](const distrib::Job&, distrib::Error&) { return distrib::ShardKind{rules.updaters()}; };
    const simulation::ClusterRun run = run_cluster(rules.job, rules, options, kinds);
    CHECK(run.outcome.wrong == "");
    REQUIRE(run.outcome.ranks != nullptr);
    distrib::RankFile agreed;
    for (const distrib::SharedRankEntry& entry : run.outcome.ranks->entries())
      if (entry->number != 0) agreed.entries.push_back(entry);
    rules.agreed(0, agreed);
    const bool is_right = rules.good_results(run.result);
    CHECK(is_right);
    all.wrong += run.outcome.wrong.empty() && is_right ? 0U : 1U;
    all.entries += agreed.entries.size();
    all.results += run.result.empty() ? 0U : 1U;
    ++all.jobs;
  }
}

}  // namespace

TEST_CASE("A simulated cluster whose ranks change ends with the bits of its log, whatever fails", "[simulation]") {
  ScaledCount all;
  run_scaled(0, scaled_seeds, all);
  CHECK(all.entries > scaled_seeds / 4);
  CHECK(all.results > scaled_seeds / 2);
}

// In pieces, so that progress is shown.
TEST_CASE("The requested seeds of a simulated cluster whose ranks change", "[.seeds][simulation]") {
  const std::uint64_t from = support::told_seeds().from;
  const std::uint64_t count = support::told_seeds().count.value_or(10'000);
  constexpr std::uint64_t piece = 1'000;
  ScaledCount all;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t now = std::min(piece, count - done);
    run_scaled(from + done, now, all);
    done += now;
    std::printf(
        "seeds %llu to %llu of clusters whose ranks change: %llu jobs with %llu entries, %llu results, %llu wrong\n",
        static_cast<unsigned long long>(from), static_cast<unsigned long long>(from + done - 1),
        static_cast<unsigned long long>(all.jobs), static_cast<unsigned long long>(all.entries),
        static_cast<unsigned long long>(all.results), static_cast<unsigned long long>(all.wrong));
    std::fflush(stdout);
    if (all.wrong >= 3) break;
  }
}
