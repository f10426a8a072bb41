// SPDX-License-Identifier: Apache-2.0
#include "simulation/asynchronous_rules.hpp"
#include "simulation/backup_rules.hpp"
#include "simulation/dealt_rules.hpp"
#include "simulation/scaled_asynchronous_rules.hpp"
#include "simulation/scaled_rules.hpp"
#include "simulation/synchronous_rules.hpp"

#include "support/catch.hpp"
#include "support/told_seeds.hpp"

#include <algorithm>
#include <cstdint>
#include <cstdio>
#include <string>

using simulation::Asynchronous;
using simulation::BackupWorkers;
using simulation::DealtRanks;
using simulation::ScaledAsynchronous;
using simulation::ScaledRanks;
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
constexpr std::uint64_t seeds = 1'000;  // `tests/run.sh simulation` runs more on request
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

TEST_CASE("Random runs: with backup workers the first contributions of each step count, whatever happens",
          "[simulation]") {
  run_seeds<BackupWorkers<>>(0, seeds);
}

TEST_CASE("Random runs: ranks that are dealt to processes, which come and go, give the same bits", "[simulation]") {
  run_seeds<DealtRanks<>>(0, seeds);
}

TEST_CASE("Random runs: a job whose ranks change ends with the bits of its log, whatever happens", "[simulation]") {
  run_seeds<ScaledRanks<>>(0, seeds);
}

TEST_CASE("Random runs: an asynchronous job whose ranks change counts what its log names once, whatever happens",
          "[simulation]") {
  run_seeds<ScaledAsynchronous<>>(0, seeds);
}

// In pieces, so that progress is shown.
TEST_CASE("Random runs: the requested seeds", "[.seeds][simulation]") {
  const std::uint64_t from = support::told_seeds().from;
  const std::uint64_t count = support::told_seeds().count.value_or(10'000);
  constexpr std::uint64_t piece = 1'000;
  for (std::uint64_t done = 0; done < count;) {
    const std::uint64_t now = std::min(piece, count - done);
    run_seeds<Synchronous<>>(from + done, now);
    run_seeds<Asynchronous<>>(from + done, now);
    run_seeds<BackupWorkers<>>(from + done, now);
    run_seeds<DealtRanks<>>(from + done, now);
    run_seeds<ScaledRanks<>>(from + done, now);
    run_seeds<ScaledAsynchronous<>>(from + done, now);
    done += now;
    std::printf("seeds %llu to %llu: synchronous, asynchronous, backup workers, dealt ranks, ranks that change, both\n",
                static_cast<unsigned long long>(from + done - now), static_cast<unsigned long long>(from + done - 1));
    std::fflush(stdout);
  }
}
