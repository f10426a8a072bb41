// SPDX-License-Identifier: Apache-2.0
// Mistakes in dealing ranks, and in serving them. Random runs must find each of them.
#include "simulation/dealt_rules.hpp"
#include "simulation/planted.hpp"

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <string>
#include <vector>

using namespace distrib;
using simulation::DealtRanks;

namespace {

/// The ranks of a process that is lost for ever are never dealt again.
struct NeverTakesBack : RankDealer {
  using RankDealer::RankDealer;
  void look(Instant) {}
};

/// The last rank of each process is dealt to none, if there are several processes.
struct LeavesTheLastOut : RankDealer {
  using RankDealer::RankDealer;
  [[nodiscard]] auto dealt(std::uint64_t process) const -> std::vector<Rank> {
    std::vector<Rank> ranks = RankDealer::dealt(process);
    if (processes() > 1 && ranks.size() > 1) ranks.pop_back();
    return ranks;
  }
};

/// A rank that is dealt again while its worker is leaving counts as served.
struct ForgetsToStartAgain : ServedRanks {
  using ServedRanks::ServedRanks;
  void ended(Rank rank, int code, auto& out) {
    struct Sink {
      decltype(out) to;
      void operator()(StartRank) {}
      void operator()(StopRank action) { to(action); }
      void operator()(ProcessDone action) { to(action); }
    } sink{out};
    ServedRanks::ended(rank, code, sink);
  }
};

/// A rank that was adopted begins with the step after the one under way.
void begins_a_step_late(const Job& job, Progress& progress) {
  if (progress.done != 0 && progress.done < job.total_steps) ++progress.done;
}
using BeginsAStepLate = simulation::Misunderstands<SyncWorkerCore, begins_a_step_late>;

/// A contribution is made by the place of the rank in its process.
struct MadeByItsPlace : DealtRanks<> {
  using DealtRanks::DealtRanks;
  [[nodiscard]] auto made_as(Rank rank, std::size_t place) const -> Rank {
    return place == 0 ? rank : static_cast<Rank>(place);
  }
};

template <class Mistake>
auto run_with_worker(std::uint64_t seed) -> std::string {
  simulation::Plant<simulation::WorkerMistake<SyncWorkerCore>>::choose<Mistake>();
  return simulation::run<DealtRanks<SyncShardCore, simulation::MistakenWorker<SyncWorkerCore>>>(seed);
}

template <class Dealer>
auto run_with_dealer(std::uint64_t seed) -> std::string {
  return simulation::run<DealtRanks<SyncShardCore, SyncWorkerCore, Dealer>>(seed);
}

template <class Served>
auto run_with_served(std::uint64_t seed) -> std::string {
  return simulation::run<DealtRanks<SyncShardCore, SyncWorkerCore, RankDealer, Served>>(seed);
}

const simulation::Planted mistakes[] = {
    {"ranks of a lost process are not dealt again", run_with_dealer<NeverTakesBack>},
    {"the last rank of each process is dealt to none", run_with_dealer<LeavesTheLastOut>},
    {"a rank that is dealt again while it leaves is not started", run_with_served<ForgetsToStartAgain>},
    {"an adopted rank begins a step late", run_with_worker<BeginsAStepLate>},
    {"a contribution is made by the place in the process", simulation::run<MadeByItsPlace>},
};

}  // namespace

TEST_CASE("Random runs: mistakes in dealing ranks are found", "[simulation]") { simulation::check_found(mistakes); }

TEST_CASE("Random runs: how often mistakes in dealing ranks are found", "[.found][simulation]") {
  simulation::print_found(mistakes);
}
