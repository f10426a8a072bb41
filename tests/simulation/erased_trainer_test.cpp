// SPDX-License-Identifier: Apache-2.0
// Keys that are erased while processes fail: a trainer in the simulated cluster, against local mode with the same log.
#include "sim/trainers.hpp"
#include "support/catch.hpp"
#include "support/sanitizers.hpp"
#include "support/temp_directory.hpp"
#include "support/told_seeds.hpp"
#include "train/table_model.hpp"

#include <distrib/net/instant.hpp>
#include <distrib/ps/cut/shard_files.hpp>
#include <distrib/ps/cut/state_fetch_core.hpp>
#include <distrib/ps/job/erased_keys.hpp>
#include <distrib/sim/detail/hosted_shard.hpp>
#include <distrib/sim/detail/simulation.hpp>
#include <distrib/sim/dice.hpp>

#include <cstddef>
#include <cstdint>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

using namespace distrib;

namespace {

constexpr std::uint32_t workers = 3;
constexpr Step steps = 20;

auto recipe(const support::TempDirectory& folder, std::uint32_t shards) {
  return table_model::builder(table_model::write(folder.path()), workers, shards, steps).with_erasable_keys();
}

/// The keys that `table_model::write` uses.
auto users() -> std::vector<std::uint64_t> {
  std::vector<std::uint64_t> keys;
  for (std::int64_t user = 0; user < 61; ++user)
    keys.push_back(static_cast<std::uint64_t>(user * 0x1234'5678'9ABC - 7));
  return keys;
}

/// What a run had.
struct ErasedRun {
  std::string wrong;  ///< Empty: nothing.
  std::vector<ErasedKeys> erased;
  unsigned deaths = 0;
};

template <class Builder>
auto erased_run(std::uint64_t seed, const Builder& builder, const std::string& directory,
                sim::detail::MakeShard make = sim::detail::make_shard<sim::detail::ShardCores>) -> ErasedRun {
  sim::Dice dice{seed};
  sim::Faults faults = sim::Faults::drawn(dice);
  faults.ps_deaths += static_cast<unsigned>(seed % 3);
  faults.erasures = static_cast<unsigned>(1 + seed % 6);
  faults.erasable = users();
  const auto plan = builder.with_hooks(SaveCheckpoint{.directory = "elsewhere", .every_steps = 5}).plan();
  const sim::Outcome outcome = sim::detail::simulate(
      plan, nullptr, {.seed = seed, .faults = faults, .cut_interval = 1 + seed % 4, .directory = directory}, make);
  ErasedRun run{outcome.wrong, outcome.erased, outcome.deaths};
  if (!run.wrong.empty()) return run;
  const LocalMode local{.workers = workers, .shards = 1, .erased = outcome.erased};
  if (outcome.parameters_sha256 != trainers::local_sha256(builder.with_local_mode(local)))
    run.wrong = "other parameters than those of local mode with the same log";
  return run;
}

// --- mistakes in what a host does with the log ---

/// A shard that comes back has no log.
struct ForgetsWhatIsErased : ShardFiles {
  using ShardFiles::ShardFiles;
  void performed(CutWork work, auto& service, Instant now, auto& out) {
    if (work.kind == CutWork::Kind::open && work.ranks) work.ranks->erased.clear();
    ShardFiles::performed(std::move(work), service, now, out);
  }
};

/// A shard that comes back has the entries, and no horizon.
struct ForgetsHowFarItWas : ShardFiles {
  using ShardFiles::ShardFiles;
  void performed(CutWork work, auto& service, Instant now, auto& out) {
    if (work.kind == CutWork::Kind::open && work.ranks) work.ranks->horizon = 0;
    ShardFiles::performed(std::move(work), service, now, out);
  }
};

/// A shard that comes back erases a step later.
struct ErasesAtAnotherStep : ShardFiles {
  using ShardFiles::ShardFiles;
  void performed(CutWork work, auto& service, Instant now, auto& out) {
    if (work.kind == CutWork::Kind::open && work.ranks)
      for (ErasedKeys& entry : work.ranks->erased) ++entry.after;
    ShardFiles::performed(std::move(work), service, now, out);
  }
};

/// The log counts as durable before it is written.
struct AcknowledgesEarly : ShardFiles {
  using ShardFiles::ShardFiles;
  void save_ranks(RankFile file, auto& out) {
    out(CutWork{CutWork::Kind::send});  // no peer asked for this; its result is the report
    ShardFiles::save_ranks(std::move(file), out);
  }
  void performed(CutWork work, auto& service, Instant now, auto& out) {
    if (work.kind == CutWork::Kind::send && work.peer == 0) return service.ranks_saved(now);
    if (work.kind == CutWork::Kind::save_ranks) return;
    ShardFiles::performed(std::move(work), service, now, out);
  }
};

template <class WithFiles>
struct CoresThat {
  using Files = WithFiles;
  using Fetch = StateFetchCore;
};

struct PlantedMistake {
  const char* name;
  sim::detail::MakeShard make;
};
const PlantedMistake planted_mistakes[] = {
    {"a shard that comes back has no entries", sim::detail::make_shard<CoresThat<ForgetsWhatIsErased>>},
    {"a shard that comes back has no horizon", sim::detail::make_shard<CoresThat<ForgetsHowFarItWas>>},
    {"a shard that comes back erases a step later", sim::detail::make_shard<CoresThat<ErasesAtAnotherStep>>},
    {"a call is answered before it is durable", sim::detail::make_shard<CoresThat<AcknowledgesEarly>>},
};

}  // namespace

TEST_CASE("A trainer whose keys are erased ends with the bits of local mode that is given the same log, whatever fails",
          "[sim][trainers]") {
  const support::TempDirectory folder;
  const auto builder = recipe(folder, 1);
  const support::ToldSeeds told = support::told_seeds();
  const std::uint64_t seeds = told.count.value_or(trainers::seeds);
  std::uint64_t wrong = 0, entries = 0;
  unsigned deaths = 0;
  for (std::uint64_t seed = told.from; seed < told.from + seeds && wrong < 3; ++seed) {
    const ErasedRun run = erased_run(seed, builder, folder.path().string());
    CAPTURE(seed);
    CHECK(run.wrong == "");
    wrong += run.wrong.empty() ? 0U : 1U;
    entries += run.erased.size();
    deaths += run.deaths;
    if (told.count && (seed + 1 - told.from) % 1'000 == 0) {
      std::printf("seeds %llu to %llu of trainers whose keys are erased: %llu entries, %llu wrong\n",
                  static_cast<unsigned long long>(told.from), static_cast<unsigned long long>(seed),
                  static_cast<unsigned long long>(entries), static_cast<unsigned long long>(wrong));
      std::fflush(stdout);
    }
  }
  if (told.count) return;
  CHECK(entries > seeds);
  CHECK(deaths > seeds);
}

TEST_CASE("Keys that are erased change the parameters of a job", "[sim]") {
  const support::TempDirectory folder;
  const auto builder = recipe(folder, 1);
  const std::vector<ErasedKeys> some{{7, "users", users()}};
  const auto with = [&](std::uint32_t shards, std::vector<ErasedKeys> erased) {
    return trainers::local_sha256(
        builder.with_local_mode({.workers = workers, .shards = shards, .erased = std::move(erased)}));
  };
  const std::string expected = with(1, some);
  CHECK(expected != with(1, {}));
  CHECK(expected != with(1, {{8, "users", some[0].keys}}));
  CHECK(expected == with(3, some));
  CHECK(with(1, {}) == trainers::local_sha256(builder.with_erasable_keys(false)));
}

TEST_CASE("Simulated runs find mistakes in what a host does with the log of erased keys", "[sim]") {
  if (DISTRIB_TEST_ADDRESS_SANITIZER) return;  // sanitizers see no planted mistakes: tests/CMakeLists.txt
  const support::TempDirectory folder;
  const auto builder = recipe(folder, 1);
  constexpr std::uint64_t most = 300;
  for (const PlantedMistake& planted : planted_mistakes) {
    std::uint64_t seed = 0;
    while (seed < most && erased_run(seed, builder, folder.path().string(), planted.make).wrong.empty()) ++seed;
    CAPTURE(planted.name);
    CHECK(seed < most);
  }
}
