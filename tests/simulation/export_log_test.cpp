// SPDX-License-Identifier: Apache-2.0
// The cores of an export log under random kills, zombies, rewinds and bad reads; and mistakes in them, which such runs
// must find. `tests/run.sh simulation` runs more seeds.
#include "simulation/export_log_runs.hpp"

#include "support/catch.hpp"
#include "support/sanitizers.hpp"

#include <cstdint>
#include <cstdio>
#include <cstdlib>
#include <map>
#include <string>

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
};

}  // namespace

TEST_CASE("an export log serves only committed states of one history, whatever fails") {
  for (std::uint64_t seed = 0; seed < seeds_of_export; ++seed) {
    CAPTURE(seed);
    REQUIRE(run_export(seed, ExportMistake::none, true).empty());
  }
}

TEST_CASE("random runs find each mistake that is planted in an export log") {
  for (const PlantedExport& planted : planted_exports) {
    CAPTURE(planted.name);
    std::uint64_t seed = 0;
    while (seed < seeds_of_export && run_export(seed, planted.mistake, planted.digests).empty()) ++seed;
    CHECK(seed < seeds_of_export);
  }
}

// DISTRIB_SEEDS=FROM:COUNT; prints how often each mistake is found.
TEST_CASE("more runs of an export log", "[.][found]") {
  const char* const seeds = std::getenv("DISTRIB_SEEDS");
  const std::string text = seeds == nullptr ? "0:1000" : seeds;
  const std::uint64_t from = std::stoull(text);
  const std::uint64_t count = std::stoull(text.substr(text.find(':') + 1));
  const auto print = [&](const char* name, ExportMistake mistake, bool digests) {
    std::map<std::string, std::uint64_t> how;
    for (std::uint64_t seed = from; seed < from + count; ++seed) ++how[run_export(seed, mistake, digests)];
    std::printf("%s:\n", name);
    for (const auto& [what, times] : how)
      std::printf("  %6lu: %s\n", static_cast<unsigned long>(times), what.empty() ? "good" : what.c_str());
  };
  print("no mistake", ExportMistake::none, true);
  for (const PlantedExport& planted : planted_exports) print(planted.name, planted.mistake, planted.digests);
}
