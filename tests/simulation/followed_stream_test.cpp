// SPDX-License-Identifier: Apache-2.0
// What jobs use to follow a stream, under random kills, zombies, stalls, losses of power, late requests, and sources
// that each process sees late, and that grow, vanish, are replaced and drop records; and mistakes, which such runs must
// find. `tests/run.sh simulation` runs more seeds.
#include "simulation/followed_stream_runs.hpp"

#include "support/catch.hpp"
#include "support/sanitizers.hpp"
#include "support/told_seeds.hpp"

#include <cstdint>
#include <cstdio>
#include <map>
#include <string>
#include <utility>

namespace {

using simulation::followed::Mistake;

constexpr std::uint64_t seeds_of_followed_streams = DISTRIB_TEST_ADDRESS_SANITIZER ? 30 : 300;
// Mistakes that need more seeds are left to the run by name.
constexpr std::uint64_t most_seeds_of_followed = DISTRIB_TEST_ADDRESS_SANITIZER ? 50 : 500;

struct PlantedInFollowed {
  Mistake mistake;
  const char* name;
  std::uint64_t most;  // A seed below this finds it.
};

constexpr PlantedInFollowed planted_in_followed[] = {
    {Mistake::order_of_listing, "each process has a log of its own", 100},
    {Mistake::file_not_synced, "a version is told before its bytes are durable", 500},
    {Mistake::name_not_synced, "a version is told before its name is durable", 500},
    {Mistake::reader_trusts, "a process does not make durable what it reads", 500},
    {Mistake::rename_for_link, "a version replaces another one", 100},
    {Mistake::refusal_counts, "a version that was refused counts as written", 100},
    {Mistake::lost_answer_counts, "a version whose write was not answered counts as written", 500},
    {Mistake::no_condition, "the store writes a version although it is there", 500},
    {Mistake::no_look_after_write, "a process does not look for newer versions after it has written its own", 20'000},
    {Mistake::restore_takes_log_back, "a Restore takes back the log of the cut", 500},
    {Mistake::log_only_in_cuts, "a start takes the log of the cut", 500},
    {Mistake::let_go_too_early, "what is before the newest cut is let go", 500},
    {Mistake::forgets_at_once, "a source that one listing does not have is forgotten", 1000},
    {Mistake::believes_at_once, "a source that one look does not find is gone", 100},
    {Mistake::grown_tail, "the tail of a file that has grown is read from its front", 100},
    {Mistake::tail_of_another, "the tail of a file that was replaced is logged", 500},
    {Mistake::sums_not_compared, "what is read is not compared with the log", 500},
    {Mistake::gone_is_left_out, "records that are gone are left out of their batch", 500},
    {Mistake::expired_is_left_out, "records that a partition has dropped are left out of the log", 2000},
};

}  // namespace

TEST_CASE("a followed stream gives each batch one content and loses no record, whatever fails") {
  for (std::uint64_t seed = 0; seed < seeds_of_followed_streams; ++seed) {
    CAPTURE(seed);
    REQUIRE(simulation::followed::Run{seed, Mistake::none}.run().empty());
  }
}

TEST_CASE("more runs of a followed stream", "[.][seeds]") {
  const support::ToldSeeds told = support::told_seeds();
  const std::uint64_t count = told.count.value_or(10'000);
  simulation::followed::Counts all;
  std::uint64_t named = 0;
  std::map<std::string, std::pair<std::uint64_t, std::uint64_t>> wrong;  // how often, first seed
  for (std::uint64_t seed = told.from; seed < told.from + count; ++seed) {
    simulation::followed::Run run{seed, Mistake::none};
    if (const std::string what = run.run(); !what.empty() && wrong[what].first++ == 0) wrong[what].second = seed;
    named += run.named.has_value();
    all += run.counts;
    if ((seed + 1) % 1000 == 0) std::printf("followed streams: seed %lu\n", static_cast<unsigned long>(seed + 1));
  }
  for (const auto& [what, often] : wrong)
    std::printf("  %lu (first %lu): %s\n", static_cast<unsigned long>(often.first),
                static_cast<unsigned long>(often.second), what.c_str());
  std::printf("followed streams: %lu runs, %lu end with a reason; %s\n", static_cast<unsigned long>(count),
              static_cast<unsigned long>(named), all.text().c_str());
  CHECK(wrong.empty());
}

TEST_CASE("random runs find each mistake that is planted around a followed stream") {
  for (const PlantedInFollowed& planted : planted_in_followed) {
    if (planted.most > most_seeds_of_followed) continue;
    CAPTURE(planted.name);
    std::uint64_t seed = 0;
    while (seed < planted.most && simulation::followed::Run{seed, planted.mistake}.run().empty()) ++seed;
    CHECK(seed < planted.most);
  }
}

// Prints how often each mistake is found, and by which seed first: of DISTRIB_SEED_COUNT seeds, or as many as it may need.
TEST_CASE("how often mistakes around a followed stream are found", "[.][found]") {
  const support::ToldSeeds told = support::told_seeds();
  for (const PlantedInFollowed& planted : planted_in_followed) {
    const std::uint64_t count = told.count.value_or(planted.most);
    std::uint64_t times = 0;
    std::uint64_t first = count;
    std::map<std::string, std::uint64_t> how;
    for (std::uint64_t seed = told.from; seed < told.from + count; ++seed) {
      const std::string what = simulation::followed::Run{seed, planted.mistake}.run();
      if (what.empty()) continue;
      if (times++ == 0) first = seed;
      ++how[what];
    }
    std::printf("%s: %lu of %lu, first %lu\n", planted.name, static_cast<unsigned long>(times),
                static_cast<unsigned long>(count), static_cast<unsigned long>(first));
    for (const auto& [what, often] : how) std::printf("  %6lu: %s\n", static_cast<unsigned long>(often), what.c_str());
  }
}
