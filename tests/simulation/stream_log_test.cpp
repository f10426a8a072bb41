// SPDX-License-Identifier: Apache-2.0 The cores of a stream log under random kills, lost disks, zombies, stalls, and
// sources that grow, vanish, are replaced and drop records; and mistakes, which such runs must find. `tests/run.sh
// simulation` runs more seeds.
#include "simulation/stream_log_runs.hpp"

#include "support/catch.hpp"
#include "support/sanitizers.hpp"
#include "support/told_seeds.hpp"

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>

namespace {

using simulation::streams::Mistake;

constexpr std::uint64_t seeds_of_streams = DISTRIB_TEST_ADDRESS_SANITIZER ? 40 : 400;
// Mistakes that need more seeds are left to the run by name.
constexpr std::uint64_t most_seeds_of_mistakes = DISTRIB_TEST_ADDRESS_SANITIZER ? 100 : 2000;

auto run_stream(std::uint64_t seed, Mistake mistake, bool harsh = false) -> std::string {
  return simulation::streams::Run{seed, mistake, harsh}.run();
}

struct PlantedInStream {
  Mistake mistake;
  const char* name;
  std::uint64_t most;  // A seed below this finds it.
  bool harsh;
};

constexpr PlantedInStream planted_in_streams[] = {
    {Mistake::told_before_durable, "an item is told before it is durable", 1000, true},
    {Mistake::order_of_listing, "records are in the order of a listing", 100, false},
    {Mistake::two_not_settled, "two proposals for one place are both taken", 100, false},
    {Mistake::log_only_in_cuts, "the log is only in the cuts", 100, false},
    {Mistake::horizon_not_durable, "the horizon is not durable", 1000, false},
    {Mistake::no_horizon, "there is no horizon", 100, false},
    {Mistake::restore_forgets, "a Restore takes back the log of the cut", 100, true},
    {Mistake::let_go_too_early, "items are let go up to the newest cut", 200, false},
    {Mistake::grown_tail, "what was added to a file is read behind what was logged of it", 100, false},
    {Mistake::bytes_not_compared, "a file is not compared with the sum of what was logged", 100, false},
    {Mistake::tail_of_another, "the tail of another version of a file is taken", 2000, false},
    {Mistake::eaten_is_left_out, "records that are gone are left out", 100, false},
    {Mistake::any_start, "a source may begin anywhere", 1000, true},
    {Mistake::count_before_copy, "a contribution is counted before the copy of the log is durable", 2000, false},
    {Mistake::starts_by_itself, "shard 0 goes on with its own copy", 100, true},
    {Mistake::no_seal, "shard 0 is given a log before the others are sealed", 100, true},
    {Mistake::seal_not_durable, "a shard answers before its promise is durable", 20000, true},
    {Mistake::any_copy, "shard 0 is given any copy", 100, true},
    {Mistake::any_id, "messages of other lives are taken", 1000, true},
    {Mistake::other_history_kept, "values and cuts of another history are kept", 2000, true},
    {Mistake::end_by_listing, "the end is decided by a listing", 100, false},
};

}  // namespace

TEST_CASE("a stream log gives each batch one content and loses no record, whatever fails") {
  for (std::uint64_t seed = 0; seed < seeds_of_streams; ++seed) {
    CAPTURE(seed);
    REQUIRE(run_stream(seed, Mistake::none).empty());
    REQUIRE(run_stream(seed, Mistake::none, true).empty());
  }
}

TEST_CASE("more runs of a stream log", "[.][seeds]") {
  const support::ToldSeeds told = support::told_seeds();
  const std::uint64_t count = told.count.value_or(10'000);
  simulation::streams::Counts all;
  std::uint64_t named = 0;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> wrong;  // how often, first seed
  for (std::uint64_t seed = told.from; seed < told.from + count; ++seed) {
    simulation::streams::Run run{seed, Mistake::none, seed % 2 == 1};
    if (const std::string what = run.run(); !what.empty() && wrong[what].first++ == 0) wrong[what].second = seed;
    named += run.named;
    all.kills += run.counts.kills;
    all.lost_disks += run.counts.lost_disks;
    all.ranges += run.counts.ranges;
    all.logs_sent += run.counts.logs_sent;
    all.lives += run.counts.lives;
    all.dropped += run.counts.dropped;
    all.dry += run.counts.dry;
    all.let_go += run.counts.let_go;
    all.ranks += run.counts.ranks;
    all.restores += run.counts.restores;
    all.spoilt += run.counts.spoilt;
    all.steps += run.counts.steps;
    if ((seed + 1) % 1000 == 0) std::printf("streams: seed %lu\n", static_cast<unsigned long>(seed + 1));
  }
  for (const auto& [what, often] : wrong)
    std::printf("  %lu (first %lu): %s\n", static_cast<unsigned long>(often.first),
                static_cast<unsigned long>(often.second), what.c_str());
  std::printf(
      "streams: %lu runs, %lu end with a reason; kills %lu, lost disks %lu, ranges proposed %lu, logs sent %lu, lives "
      "%lu, histories dropped %lu, waits for records %lu, files with items let go %lu, changes of ranks %lu, "
      "restores %lu, spoilt sources %lu, steps of shards %lu\n",
      static_cast<unsigned long>(count), static_cast<unsigned long>(named), static_cast<unsigned long>(all.kills),
      static_cast<unsigned long>(all.lost_disks), static_cast<unsigned long>(all.ranges),
      static_cast<unsigned long>(all.logs_sent), static_cast<unsigned long>(all.lives),
      static_cast<unsigned long>(all.dropped), static_cast<unsigned long>(all.dry),
      static_cast<unsigned long>(all.let_go), static_cast<unsigned long>(all.ranks),
      static_cast<unsigned long>(all.restores), static_cast<unsigned long>(all.spoilt),
      static_cast<unsigned long>(all.steps));
  CHECK(wrong.empty());
}

TEST_CASE("random runs find each mistake that is planted in a stream log") {
  for (const PlantedInStream& planted : planted_in_streams) {
    if (planted.most > most_seeds_of_mistakes) continue;
    CAPTURE(planted.name);
    std::uint64_t seed = 0;
    while (seed < planted.most && run_stream(seed, planted.mistake, planted.harsh).empty()) ++seed;
    CHECK(seed < planted.most);
  }
}

// Prints how often each mistake is found, and by which seed first: of DISTRIB_SEED_COUNT seeds, or as many as it may need.
TEST_CASE("how often mistakes in a stream log are found", "[.][found]") {
  const support::ToldSeeds told = support::told_seeds();
  for (const PlantedInStream& planted : planted_in_streams) {
    const std::uint64_t count = told.count.value_or(planted.most);
    std::uint64_t times = 0;
    std::uint64_t first = count;
    std::map<std::string, std::uint64_t> how;
    for (std::uint64_t seed = told.from; seed < told.from + count; ++seed) {
      const std::string what = run_stream(seed, planted.mistake, planted.harsh);
      if (what.empty()) continue;
      if (times++ == 0) first = seed;
      ++how[what];
    }
    std::printf("%s: %lu of %lu, first %lu\n", planted.name, static_cast<unsigned long>(times),
                static_cast<unsigned long>(count), static_cast<unsigned long>(first));
    for (const auto& [what, often] : how) std::printf("  %6lu: %s\n", static_cast<unsigned long>(often), what.c_str());
  }
}
