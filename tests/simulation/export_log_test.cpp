// SPDX-License-Identifier: Apache-2.0
// The cores of an export log under random kills, zombies, rewinds and bad reads; and mistakes in them, which such runs
// must find. `tests/run.sh simulation` runs more seeds.
#include "simulation/export_log_runs.hpp"

#include "support/catch.hpp"
#include "support/sanitizers.hpp"
#include "support/told_seeds.hpp"

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

namespace {

using simulation::ExportMistake;

constexpr std::uint64_t seeds_of_export = DISTRIB_TEST_ADDRESS_SANITIZER ? 60 : 500;

auto run_export(std::uint64_t seed, ExportMistake mistake, bool digests) -> std::string {
  return simulation::ExportRuns{seed, mistake, digests}.run();
}

struct PlantedExport {
  ExportMistake mistake;
  const char* name;
  bool digests;  // False: the digests alone would already keep it from being served.
};

constexpr PlantedExport planted_exports[] = {
    {ExportMistake::no_epochs, "votes of replaced processes count", true},
    {ExportMistake::no_swap, "the head is replaced whatever it was", true},
    {ExportMistake::no_tombstones, "a delta does not say which keys are gone", false},
    {ExportMistake::any_base, "a delta is committed on another part than its own", true},
    {ExportMistake::no_lineage, "settings are not compared", true},
    {ExportMistake::trust_cut, "a cut goes on with deltas without a proof, and chains are not limited", true},
    {ExportMistake::no_checksum, "the bytes of objects are not verified", false},
    {ExportMistake::skip_gaps, "a position is applied on any other", false},
    {ExportMistake::go_back, "a reader takes an older head", true},
    {ExportMistake::no_whole, "a missing vote is replaced by the one before", true},
    {ExportMistake::dirty_lost, "a shard that starts counts changes from the committed part", false},
    {ExportMistake::shard_budget, "a quota is shared by all groups of a shard", true},
    {ExportMistake::use_lost, "a cut does not keep how often keys were used", true},
    {ExportMistake::base_of_other_step, "a base has the rows of the export before", false},
    {ExportMistake::mixed_bases, "bases of different labels are named together", true},
    {ExportMistake::kept_base, "a process that starts votes for the base of the one before", true},
};

}  // namespace

TEST_CASE("an export log serves only committed states of one history, whatever fails") {
  std::uint64_t begun_with_bases = 0;
  for (std::uint64_t seed = 0; seed < seeds_of_export; ++seed) {
    CAPTURE(seed);
    simulation::ExportRuns run{seed, ExportMistake::none, true};
    REQUIRE(run.run().empty());
    begun_with_bases += run.begun_with_bases();
  }
  CHECK(begun_with_bases > seeds_of_export / 20);
}

TEST_CASE("random runs find each mistake that is planted in an export log") {
  for (const PlantedExport& planted : planted_exports) {
    CAPTURE(planted.name);
    std::uint64_t seed = 0;
    while (seed < seeds_of_export && run_export(seed, planted.mistake, planted.digests).empty()) ++seed;
    CHECK(seed < seeds_of_export);
  }
}

// Prints every 1000 seeds how far it is, and at the end what happened in all runs.
TEST_CASE("more runs of an export log", "[.][seeds]") {
  const support::ToldSeeds told = support::told_seeds();
  const std::uint64_t count = told.count.value_or(10'000);
  std::uint64_t commits = 0;
  std::uint64_t served = 0;
  std::uint64_t refused = 0;
  std::uint64_t kills = 0;
  std::uint64_t rewinds = 0;
  std::uint64_t named_bases = 0;
  std::uint64_t begun_with_bases = 0;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> wrong;  // how often, first seed
  for (std::uint64_t seed = told.from; seed < told.from + count; ++seed) {
    simulation::ExportRuns run{seed, ExportMistake::none, true};
    if (const std::string what = run.run(); !what.empty() && wrong[what].first++ == 0) wrong[what].second = seed;
    commits += run.commits();
    served += run.served();
    refused += run.refused();
    kills += run.kills();
    rewinds += run.rewinds();
    named_bases += run.named_bases();
    begun_with_bases += run.begun_with_bases();
    if ((seed + 1) % 1000 == 0) {
      std::printf("export logs: seed %lu\n", static_cast<unsigned long>(seed + 1));
      std::fflush(stdout);
    }
  }
  for (const auto& [what, often] : wrong)
    std::printf("  %lu (first %lu): %s\n", static_cast<unsigned long>(often.first),
                static_cast<unsigned long>(often.second), what.c_str());
  std::printf(
      "export logs: %lu runs; positions committed %lu, served %lu, refused %lu; kills %lu, rewinds %lu; "
      "bases named %lu, readers that began with them %lu\n",
      static_cast<unsigned long>(count), static_cast<unsigned long>(commits), static_cast<unsigned long>(served),
      static_cast<unsigned long>(refused), static_cast<unsigned long>(kills), static_cast<unsigned long>(rewinds),
      static_cast<unsigned long>(named_bases), static_cast<unsigned long>(begun_with_bases));
  CHECK(wrong.empty());
}

// Prints how often each mistake is found.
TEST_CASE("how often mistakes in an export log are found", "[.][found]") {
  const support::ToldSeeds told = support::told_seeds();
  const std::uint64_t count = told.count.value_or(1000);
  for (const PlantedExport& planted : planted_exports) {
    std::map<std::string, std::uint64_t> how;
    for (std::uint64_t seed = told.from; seed < told.from + count; ++seed)
      ++how[run_export(seed, planted.mistake, planted.digests)];
    std::printf("%s:\n", planted.name);
    for (const auto& [what, times] : how)
      std::printf("  %6lu: %s\n", static_cast<unsigned long>(times), what.empty() ? "good" : what.c_str());
  }
}
