// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sim/run.hpp>

#include "support/catch.hpp"
#include "support/told_seeds.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

/// Trainers over many seeds of `sim::run`, beside local mode.
namespace trainers {

// Of each job; tests/run.sh simulation runs as many as one asks for.
#ifdef NDEBUG
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

/// What came of all seeds together.
struct Sum {
  std::uint64_t seeds = 0;  // that ran
  unsigned deaths = 0, resets = 0, refused_cuts = 0;
  std::uint64_t again = 0;  // contributions computed again
};

/// Runs seeds until three were wrong. `job`: its name for people. `contributions`: that are to be counted.
template <class Builder>
auto check_seeds(const char* job, const Builder& builder, const std::string& directory, const std::string& expected,
                 std::uint64_t contributions) -> Sum {
  const support::ToldSeeds told = support::told_seeds();
  const std::uint64_t count = told.count.value_or(seeds);
  Sum sum;
  unsigned wrong = 0;
  while (sum.seeds < count && wrong < 3) {
    const std::uint64_t seed = told.from + sum.seeds++;
    const distrib::sim::Outcome outcome = distrib::sim::run(builder, {.seed = seed, .directory = directory});
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
  if (count >= seeds) {  // few may draw few faults
    CHECK(sum.deaths > count);
    CHECK(sum.resets > count);
  }
  return sum;
}

}  // namespace trainers
