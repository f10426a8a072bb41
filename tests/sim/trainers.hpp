// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sim/run.hpp>

#include "support/catch.hpp"
#include "support/sanitizers.hpp"
#include "support/told_seeds.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

/// Runs trainers with many seeds of `sim::run`, and compares them with local mode.
namespace trainers {

// Number of seeds of each job. tests/run.sh simulation can run any number.
#if defined(NDEBUG) && !DISTRIB_TEST_EMULATED
inline constexpr std::uint64_t seeds = 200;
#else
inline constexpr std::uint64_t seeds = 20;
#endif

template <class Builder>
auto local_sha256(const Builder& builder) -> std::string {
  auto trainer = builder.build();
  CHECK(trainer.run() == 0);
  return trainer.result().parameters_sha256;
}

/// The sums over all seeds.
struct Sum {
  std::uint64_t seeds = 0;  // seeds that ran
  unsigned deaths = 0, resets = 0, refused_cuts = 0;
  std::uint64_t again = 0;  // contributions that were computed again
};

/// Runs seeds until three of them were wrong. `job`: its name, for the output. `contributions`: how many must count.
/// `cut_interval`: see `sim::Options`.
template <class Builder>
auto check_seeds(const char* job, const Builder& builder, const std::string& directory, const std::string& expected,
                 std::uint64_t contributions, std::uint64_t cut_interval = 0) -> Sum {
  const support::ToldSeeds told = support::told_seeds();
  const std::uint64_t count = told.count.value_or(seeds);
  Sum sum;
  unsigned wrong = 0;
  while (sum.seeds < count && wrong < 3) {
    const std::uint64_t seed = told.from + sum.seeds++;
    const distrib::sim::Outcome outcome =
        distrib::sim::run(builder, {.seed = seed, .cut_interval = cut_interval, .directory = directory});
    sum.deaths += outcome.deaths;
    sum.resets += outcome.resets;
    sum.refused_cuts += outcome.refused_cuts;
    sum.again += outcome.computed - std::min(outcome.computed, contributions);
    if (told.count && (sum.seeds % 1'000 == 0 || sum.seeds == count)) {
      std::printf("seeds %llu to %llu: %s\n", static_cast<unsigned long long>(told.from),
                  static_cast<unsigned long long>(seed), job);
      std::fflush(stdout);
    }
    const bool same = expected.empty() || outcome.parameters_sha256 == expected;
    if (outcome.wrong.empty() && same && outcome.contributions == contributions) continue;
    ++wrong;
    CAPTURE(seed);
    CHECK(outcome.wrong == "");
    CHECK(same);
    CHECK(outcome.contributions == contributions);
  }
  CHECK(wrong == 0);
  if (count >= seeds) {  // fewer seeds may draw few faults
    CHECK(sum.deaths > count);
    CHECK(sum.resets > count);
  }
  return sum;
}

}  // namespace trainers
