// SPDX-License-Identifier: Apache-2.0
// Ranks that change, in the simulated cluster: services, nodes, messages and files of production.
#include "simulation/cluster.hpp"
#include "simulation/scaled_rules.hpp"

#include "support/catch.hpp"
#include "support/temp_directory.hpp"
#include "support/told_seeds.hpp"

#include <distrib/core/error.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/ps/cut/shard_files.hpp>
#include <distrib/ps/cut/state_fetch_core.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/parse_job.hpp>
#include <distrib/ps/job/rank_file.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/sim/detail/hosted_shard.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>

namespace {

#ifdef NDEBUG
constexpr std::uint64_t scaled_seeds = 100;
#else
constexpr std::uint64_t scaled_seeds = 20;
#endif

// --- mistakes in what a host does with the log ---

/// A shard that comes back has no log.
struct ForgetsTheLog : distrib::ShardFiles {
  using ShardFiles::ShardFiles;
  void performed(distrib::CutWork work, auto& service, distrib::Instant now, auto& out) {
    if (work.kind == distrib::CutWork::Kind::open) work.ranks.reset();
    ShardFiles::performed(std::move(work), service, now, out);
  }
};

/// A shard that comes back has the entries, and no horizon.
struct ForgetsHowFar : distrib::ShardFiles {
  using ShardFiles::ShardFiles;
  void performed(distrib::CutWork work, auto& service, distrib::Instant now, auto& out) {
    if (work.kind == distrib::CutWork::Kind::open && work.ranks) work.ranks->horizon = 0;
    ShardFiles::performed(std::move(work), service, now, out);
  }
};

/// Entries are not in the file.
struct SavesNoEntries : distrib::ShardFiles {
  using ShardFiles::ShardFiles;
  void performed(distrib::CutWork work, auto& service, distrib::Instant now, auto& out) {
    if (work.kind == distrib::CutWork::Kind::open && work.ranks) work.ranks->entries.clear();
    ShardFiles::performed(std::move(work), service, now, out);
  }
};

/// The log counts as durable before it is written.
struct CountsTheLogEarly : distrib::ShardFiles {
  using ShardFiles::ShardFiles;
  void save_ranks(distrib::RankFile file, auto& out) {
    out(distrib::CutWork{distrib::CutWork::Kind::send});  // no peer asked for this; its result is the report
    ShardFiles::save_ranks(std::move(file), out);
  }
  void performed(distrib::CutWork work, auto& service, distrib::Instant now, auto& out) {
    if (work.kind == distrib::CutWork::Kind::send && work.peer == 0) return service.ranks_saved(now);
    if (work.kind == distrib::CutWork::Kind::save_ranks) return;
    ShardFiles::performed(std::move(work), service, now, out);
  }
};

template <class WithFiles>
struct CoresWith {
  using Files = WithFiles;
  using Fetch = distrib::StateFetchCore;
};

/// What a run had.
struct ScaledRun {
  std::string wrong = {};  ///< Empty: nothing.
  bool is_job = true;  ///< False: the seed has no job that a parameter server would take.
  std::size_t entries = 0;
};

/// Runs a seed. Each fourth one keeps its cuts and its log of the ranks in files on a simulated disk, the others in
/// memory.
auto scaled_run(std::uint64_t seed, distrib::sim::detail::MakeShard make) -> ScaledRun {
  simulation::Dice dice{seed};
  simulation::ScaledRanks<> rules{dice};
  distrib::Error unlike;
  static_cast<void>(distrib::parse_job(to_text(rules.job), unlike));
  if (unlike) return {.is_job = false};  // with an empty part
  distrib::sim::Faults faults = distrib::sim::Faults::drawn(dice);
  faults.zombies = 0;
  faults.scalings = dice.pick<unsigned>({0, 1, 2, 4, 8});
  const support::TempDirectory directory;
  distrib::sim::Options options{.seed = seed, .faults = faults};
  if (seed % 4 == 3) options.directory = directory.path().string();
  const auto kinds = [&rules](const distrib::Job&, distrib::Error&) { return distrib::ShardKind{rules.updaters()}; };
  const simulation::ClusterRun run = run_cluster(rules.job, rules, options, kinds, make);
  distrib::RankFile agreed;
  for (const distrib::SharedRankEntry& entry : run.outcome.ranks->entries())
    if (entry->number != 0) agreed.entries.push_back(entry);
  rules.agreed(0, agreed);
  ScaledRun had{run.outcome.wrong, true, agreed.entries.size()};
  if (had.wrong.empty() && run.result.empty()) had.wrong = "the process of rank 0 has no result";
  if (had.wrong.empty() && !rules.good_results(run.result)) had.wrong = "other values than those of the log";
  return had;
}

/// The sums over some seeds.
struct ScaledCount {
  std::uint64_t jobs = 0, entries = 0, wrong = 0;
};

/// Runs seeds until three were wrong.
void run_scaled(std::uint64_t from, std::uint64_t count, ScaledCount& all) {
  for (std::uint64_t seed = from; seed < from + count && all.wrong < 3; ++seed) {
    const ScaledRun run = scaled_run(seed, distrib::sim::detail::make_shard<distrib::sim::detail::ShardCores>);
    if (!run.is_job) continue;
    CAPTURE(seed);
    CHECK(run.wrong == "");
    ++all.jobs;
    all.entries += run.entries;
    if (!run.wrong.empty()) ++all.wrong;
  }
}

struct PlantedInHosts {
  const char* name;
  distrib::sim::detail::MakeShard make;
};
const PlantedInHosts planted_in_hosts[] = {
    {"a shard that comes back has no log", distrib::sim::detail::make_shard<CoresWith<ForgetsTheLog>>},
    {"a shard that comes back has no horizon", distrib::sim::detail::make_shard<CoresWith<ForgetsHowFar>>},
    {"entries are not in the file", distrib::sim::detail::make_shard<CoresWith<SavesNoEntries>>},
    {"the log counts as durable before it is written", distrib::sim::detail::make_shard<CoresWith<CountsTheLogEarly>>},
};

}  // namespace

TEST_CASE("A simulated cluster whose ranks change ends with the bits of its log, whatever fails", "[simulation]") {
  ScaledCount all;
  run_scaled(0, scaled_seeds, all);
  CHECK(all.entries > scaled_seeds / 4);
}

// Takes too long for each build: some mistakes make jobs that never end.
TEST_CASE("A simulated cluster finds mistakes in what a host does with the log of the ranks", "[.seeds][simulation]") {
  constexpr std::uint64_t most = 3000;
  for (const PlantedInHosts& planted : planted_in_hosts) {
    std::uint64_t seed = 0;
    while (seed < most && scaled_run(seed, planted.make).wrong.empty()) ++seed;
    CAPTURE(planted.name);
    CHECK(seed < most);
  }
}

TEST_CASE("How often a simulated cluster finds mistakes with the log of the ranks", "[.found][simulation]") {
  const std::uint64_t count = support::told_seeds().count.value_or(1000);
  for (const PlantedInHosts& planted : planted_in_hosts) {
    std::uint64_t found = 0, first = count;
    for (std::uint64_t seed = count; seed-- > 0;) {
      if (scaled_run(seed, planted.make).wrong.empty()) continue;
      ++found;
      first = seed;
    }
    std::printf("%s: %llu of %llu, the first is %llu\n", planted.name, static_cast<unsigned long long>(found),
                static_cast<unsigned long long>(count), static_cast<unsigned long long>(first));
    std::fflush(stdout);
  }
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
        "seeds %llu to %llu of clusters whose ranks change: %llu jobs with %llu entries, %llu wrong\n",
        static_cast<unsigned long long>(from), static_cast<unsigned long long>(from + done - 1),
        static_cast<unsigned long long>(all.jobs), static_cast<unsigned long long>(all.entries),
        static_cast<unsigned long long>(all.wrong));
    std::fflush(stdout);
    if (all.wrong >= 3) break;
  }
}
