// SPDX-License-Identifier: Apache-2.0
#include "simulation/asynchronous_rules.hpp"
#include "simulation/backup_rules.hpp"
#include "simulation/synchronous_rules.hpp"

#include "support/catch.hpp"

using simulation::Asynchronous;
using simulation::BackupWorkers;
using simulation::Synchronous;

namespace {

template <class Rules>
void run_seeds(std::uint64_t first, std::uint64_t count) {
  std::uint64_t wrong = 0;
  for (std::uint64_t seed = first; seed < first + count && wrong < 5; ++seed) {
    const std::string what = simulation::Carrier<Rules>{seed}.run();
    if (what.empty()) continue;
    ++wrong;
    CAPTURE(seed);
    CHECK(what == "");
  }
  CHECK(wrong == 0);
}

#ifdef NDEBUG
constexpr std::uint64_t seeds = 10'000;
#else
constexpr std::uint64_t seeds = 200;
#endif

}  // namespace

TEST_CASE("Random runs: a synchronous job ends with the same bits, whatever happens", "[simulation]") {
  run_seeds<Synchronous<>>(0, seeds);
}

TEST_CASE("Random runs: an asynchronous job counts each contribution once, whatever happens", "[simulation]") {
  run_seeds<Asynchronous<>>(0, seeds);
}

TEST_CASE("Random runs: with backup workers the first so many count at each step, whatever happens", "[simulation]") {
  run_seeds<BackupWorkers<>>(0, seeds);
}

TEST_CASE("Random runs: many seeds", "[.][simulation]") {
  run_seeds<Synchronous<>>(0, 100'000);
  run_seeds<Asynchronous<>>(0, 100'000);
  run_seeds<BackupWorkers<>>(0, 100'000);
}
