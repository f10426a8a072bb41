// SPDX-License-Identifier: Apache-2.0
// Ranks that change, in the simulated cluster: services, nodes, messages and files of production.
#include "simulation/cluster.hpp"
#include "simulation/scaled_rules.hpp"

#include "support/catch.hpp"
#include "support/told_seeds.hpp"

#include <distrib/core/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/parse_job.hpp>
#include <distrib/ps/job/rank_file.hpp>
#include <distrib/ps/protocol/any_shard.hpp>

#include <cstddef>
#include <cstdint>

namespace {

#ifdef NDEBUG
constexpr std::uint64_t scaled_seeds = 100;
#else
constexpr std::uint64_t scaled_seeds = 20;
#endif

}  // namespace

TEST_CASE("A simulated cluster whose ranks change ends with the bits of its log, whatever fails", "[simulation]") {
  const support::ToldSeeds told = support::told_seeds();
  const std::uint64_t count = told.count.value_or(scaled_seeds);
  std::size_t entries = 0;
  std::size_t results = 0;  // the process of rank 0 may come too late, if others make the last step
  unsigned wrong = 0;
  for (std::uint64_t seed = told.from; seed < told.from + count && wrong < 3; ++seed) {
    CAPTURE(seed);
    simulation::Dice dice{seed};
    simulation::ScaledRanks<> rules{dice};
    distrib::Error unlike;
    static_cast<void>(distrib::parse_job(to_text(rules.job), unlike));
    if (unlike) continue;  // with an empty part, which a parameter server refuses
    distrib::sim::Faults faults = distrib::sim::Faults::drawn(dice);
    faults.zombies = 0;
    faults.scalings = dice.pick<unsigned>({0, 1, 2, 4, 8});
    const auto kinds = [&rules](const distrib::Job&, distrib::Error&) { return distrib::ShardKind{rules.updaters()}; };
    const simulation::ClusterRun run = run_cluster(rules.job, rules, {.seed = seed, .faults = faults}, kinds);
    CHECK(run.outcome.wrong == "");
    REQUIRE(run.outcome.ranks != nullptr);
    distrib::RankFile agreed;
    for (const distrib::SharedRankEntry& entry : run.outcome.ranks->entries())
      if (entry->number != 0) agreed.entries.push_back(entry);
    rules.agreed(0, agreed);
    const bool is_right = rules.good_results(run.result);
    CHECK(is_right);
    wrong += run.outcome.wrong.empty() && is_right ? 0 : 1;
    entries += agreed.entries.size();
    results += run.result.empty() ? 0 : 1;
  }
  if (told.count) return;
  CHECK(entries > scaled_seeds / 4);
  CHECK(results > scaled_seeds / 2);
}
