// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sim/run.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <string>

/// Trainers over many seeds of `sim::run`, beside local mode.
namespace trainers {

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
  unsigned deaths = 0, resets = 0, refused_cuts = 0;
  std::uint64_t again = 0;  // contributions computed again
};

/// Runs seeds until three were wrong. `contributions`: that are to be counted.
template <class Builder>
auto check_seeds(const Builder& builder, const std::string& directory, const std::string& expected,
                 std::uint64_t contributions) -> Sum {
  Sum sum;
  unsigned wrong = 0;
  for (std::uint64_t seed = 0; seed < seeds && wrong < 3; ++seed) {
    const distrib::sim::Outcome outcome = distrib::sim::run(builder, {.seed = seed, .directory = directory});
    sum.deaths += outcome.deaths;
    sum.resets += outcome.resets;
    sum.refused_cuts += outcome.refused_cuts;
    sum.again += outcome.computed - std::min(outcome.computed, contributions);
    const bool same = expected.empty() || outcome.parameters_sha256 == expected;
    if (outcome.wrong.empty() && same && outcome.contributions == contributions) continue;
    ++wrong;
    CAPTURE(seed);
    CHECK(outcome.wrong == "");
    CHECK(same);
    CHECK(outcome.contributions == contributions);
  }
  CHECK(wrong == 0);
  CHECK(sum.deaths > seeds);
  CHECK(sum.resets > seeds);
  return sum;
}

}  // namespace trainers
