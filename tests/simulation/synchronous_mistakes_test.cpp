// SPDX-License-Identifier: Apache-2.0
// Mistakes in the rules of synchronous jobs: random runs must find each of them, or they would find no real ones
// either. Those that only tables, full disks or backup workers show are in mistakes_test.cpp.
#include "simulation/planted.hpp"
#include "simulation/synchronous_rules.hpp"

#include <distrib/ps/job/consistency.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstdint>
#include <iterator>
#include <map>
#include <set>
#include <type_traits>
#include <utility>
#include <vector>

using namespace distrib;
using simulation::changed;
using simulation::Synchronous;

namespace {

/// The n-th contribution that comes takes the place of rank n.
struct ReducesInArrivalOrder : SyncShardCore {
  using SyncShardCore::SyncShardCore;
  void push(Peer peer, Contribution contribution, auto& out) {
    std::vector<Rank>& came = came_[contribution.step];
    const auto place = std::ranges::find(came, contribution.rank) - came.begin();
    if (place == std::ssize(came)) came.push_back(contribution.rank);
    contribution.rank = static_cast<Rank>(place);
    SyncShardCore::push(peer, std::move(contribution), out);
  }

 private:
  std::map<Step, std::vector<Rank>> came_;
};

struct AnswersTheNewestStep : SyncShardCore {
  using SyncShardCore::SyncShardCore;
  void pull(Peer peer, Step step, auto& out, PullRows rows) {
    auto renamed = changed<ValuesReply>(out, [step](ValuesReply& reply) { reply.step = step; });
    SyncShardCore::pull(peer, std::max(step, this->step()), renamed, std::move(rows));
  }
};

/// Unless the cut waited for another one, or for its tables to be copied.
struct CutsTheStepBefore : SyncShardCore {
  using SyncShardCore::SyncShardCore;
  void push(Peer peer, Contribution contribution, auto& out) {
    const SharedBuffer before = store().dense();
    auto misnamed = changed<SaveCut>(out, [&before](SaveCut& save) { save.cut.values = before; });
    SyncShardCore::push(peer, std::move(contribution), misnamed);
  }
};

/// The last step is done, so its cut will be there.
void hopes_for_the_last_cut(const Job& job, Progress& progress) {
  if (progress.done == job.total_steps) progress.cuts.push_back(progress.done);
}
using LeavesBeforeTheLastCut = simulation::Misunderstands<SyncWorkerCore, hopes_for_the_last_cut>;

/// Whoever is last is taken for a backup worker.
struct CompletesWithoutTheLast : SyncShardCore {
  template <class... Cuts>
  CompletesWithoutTheLast(const Job& job, std::uint32_t shard, const JobUpdaters& updaters, Cuts&&... cuts)
      : SyncShardCore{with_backup(job), shard, updaters, std::forward<Cuts>(cuts)...} {}

 private:
  static auto with_backup(Job job) -> Job {
    job.consistency = BulkSynchronousParallel{.replicas_to_aggregate = job.ranks - 1};
    return job;
  }
};

/// On its way to a cut the shard answers with the values that it still has.
struct AnswersBeforeTheCutIsLoaded : SyncShardCore {
  using SyncShardCore::SyncShardCore;
  void restore(Peer peer, Step cut, auto& out) {
    auto noticed = changed<LoadCut>(out, [this](LoadCut&) { loading_ = true; });
    SyncShardCore::restore(peer, cut, noticed);
  }
  void cut_loaded(const Cut& cut, auto& out) {
    loading_ = false;
    SyncShardCore::cut_loaded(cut, out);
  }
  void pull(Peer peer, Step step, auto& out, PullRows rows) {
    if (!loading_ || step != this->step()) return SyncShardCore::pull(peer, step, out, std::move(rows));
    out(ValuesReply{peer, step, store().values(rows), progress(), step});
  }

 private:
  bool loading_ = false;
};

/// Who did not ask for it hears of a Restore by a Notice, and goes on with the larger k that he knew.
struct TellsOfARestoreByNotice : SyncShardCore {
  using SyncShardCore::SyncShardCore;
  void restore(Peer peer, Step cut, auto& out) {
    asked_.insert(peer);
    SyncShardCore::restore(peer, cut, out);
  }
  void cut_loaded(const Cut& cut, auto& out) {
    auto told = [&](auto action) {
      if constexpr (std::is_same_v<decltype(action), JoinedReply>)
        if (!asked_.contains(action.peer)) return out(NoticeReply{action.peer, std::move(action.progress)});
      out(std::move(action));
    };
    SyncShardCore::cut_loaded(cut, told);
    asked_.clear();
  }

 private:
  std::set<Peer> asked_;
};

/// A shard that came back may need older ones, too.
struct SendsOnlyTheNewestAgain : SyncWorkerCore {
  using SyncWorkerCore::SyncWorkerCore;
  void joined(std::uint32_t shard, Progress progress, auto& out) {
    auto sent = [&](auto action) {
      if constexpr (std::is_same_v<decltype(action), SendPush>)
        if (action.contribution.step < step()) return;
      out(std::move(action));
    };
    SyncWorkerCore::joined(shard, std::move(progress), sent);
  }
};

/// What the initializers give is taken for the values.
struct BeginsWithoutTheInitialValues : SyncShardCore {
  template <class... Cuts>
  BeginsWithoutTheInitialValues(Job job, std::uint32_t shard, const JobUpdaters& updaters, Cuts&&... cuts)
      : SyncShardCore{(job.initial_blocks.clear(), job), shard, updaters, std::forward<Cuts>(cuts)...} {}
};

/// Sent back to the beginning, a shard goes on with the zeros of its cut 0.
struct GoesBackToZeros : SyncShardCore {
  using SyncShardCore::SyncShardCore;
  void push(Peer peer, Contribution contribution, auto& out) {
    if (contribution.step == 0) initial_ = contribution;
    SyncShardCore::push(peer, std::move(contribution), out);
  }
  void cut_loaded(const Cut& cut, auto& out) {
    auto told = changed<JoinedReply>(out, [](JoinedReply& reply) { reply.progress.no_values = false; });
    SyncShardCore::cut_loaded(cut, told);
    if (!progress().no_values || initial_.block == nullptr) return;
    auto unasked = [&out](auto action) {
      if constexpr (!std::is_same_v<decltype(action), PushedReply>) out(std::move(action));
    };
    SyncShardCore::push(0, initial_, unasked);
    if (step() == 0) store().begin(cut.values);
  }

 private:
  Contribution initial_;
};

/// Contribution 0 takes the place of what was learnt, whenever it comes.
struct BeginsAgain : SyncShardCore {
  using SyncShardCore::SyncShardCore;
  void push(Peer peer, Contribution contribution, auto& out) {
    const SharedBuffer block = contribution.block;
    const bool is_late = contribution.step == 0 && step() != 0;
    SyncShardCore::push(peer, std::move(contribution), out);
    if (is_late) store().begin(block);
  }
};

/// A worker gives a shard the initial values once, and has forgotten them when it begins anew.
struct BeginsAShardOnce : SyncWorkerCore {
  using SyncWorkerCore::SyncWorkerCore;
  void joined(std::uint32_t shard, Progress progress, auto& out) {
    auto sent = [&](auto action) {
      if constexpr (std::is_same_v<decltype(action), SendPush>)
        if (action.contribution.step == 0 && !begun_.insert(action.shard).second) return;
      out(std::move(action));
    };
    SyncWorkerCore::joined(shard, std::move(progress), sent);
  }

 private:
  std::set<std::uint32_t> begun_;
};

template <class ShardCore>
constexpr auto on_shard = simulation::run<Synchronous<ShardCore>>;
template <class WorkerCore>
constexpr auto on_worker = simulation::run<Synchronous<SyncShardCore, WorkerCore>>;

constexpr simulation::Planted mistakes[] = {
    {"reduce in arrival order", on_shard<ReducesInArrivalOrder>},
    {"pull answers the newest instead of the named step", on_shard<AnswersTheNewestStep>},
    {"a cut holds the step before its name", on_shard<CutsTheStepBefore>},
    {"a worker leaves before the last cut is durable", on_worker<LeavesBeforeTheLastCut>},
    {"a step completes without the last rank", on_shard<CompletesWithoutTheLast>},
    {"a pull is answered before the cut is loaded", on_shard<AnswersBeforeTheCutIsLoaded>},
    {"Restore is told by Notice", on_shard<TellsOfARestoreByNotice>},
    {"a shard that came back is sent only the newest step", on_worker<SendsOnlyTheNewestAgain>},
    {"a shard does not wait for custom initial values", on_shard<BeginsWithoutTheInitialValues>},
    {"a shard that goes back to step 0 keeps its zeros", on_shard<GoesBackToZeros>},
    {"a late contribution 0 counts", on_shard<BeginsAgain>},
    {"contribution 0 is sent once only", on_worker<BeginsAShardOnce>},
};

}  // namespace

TEST_CASE("Random runs find each mistake in the rules of synchronous jobs", "[simulation]") {
  CHECK(simulation::first_seed({"none", on_shard<SyncShardCore>}, 100) == 100);
  simulation::check_found(mistakes);
}

TEST_CASE("Random runs: how often they find mistakes of synchronous jobs", "[.found][simulation]") {
  simulation::print_found(mistakes);
}
