// SPDX-License-Identifier: Apache-2.0
// Mistakes in the rules about ranks that change: the mistakes of docs/design/membership.md. Random runs must find each.
#include "simulation/planted.hpp"
#include "simulation/scaled_rules.hpp"

#include "support/catch.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/protocol/rank_log_core.hpp>

#include <algorithm>
#include <cstdint>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace distrib;
using simulation::ScaledRanks;
using support::WorkerAction;
using support::WorkerActions;

namespace {

/// E2: an entry is taken if only its step is not under way yet.
struct TakesEntriesLate : ScaledRanks<> {
  using ScaledRanks::ScaledRanks;
  void propose(SyncShardCore& core, const RankEntry& entry) override {
    if (entry.from > core.step() + 1) core.rank_log()->hear(std::make_shared<const RankEntry>(entry));
  }
};

/// E1: a shard that comes back takes the step of its newest cut for the horizon.
struct ForgetsTheHorizon : ScaledRanks<> {
  using ScaledRanks::ScaledRanks;

 protected:
  void change_file(SyncShardCore&, std::optional<RankFile>& file, Step newest) const override {
    if (file) file->horizon = newest;
  }
};

/// A shard that comes back has the entries that it had when its newest cut was made.
struct KeepsEntriesInCuts : ScaledRanks<> {
  using ScaledRanks::ScaledRanks;
  void agreed(std::uint32_t shard, const RankFile& file) override {
    ScaledRanks::agreed(shard, file);
    newest_[shard] = file.entries;
  }
  auto good_cut(std::uint32_t shard, const Cut& cut) const -> bool {
    in_cuts_[{shard, cut.step}] = newest_[shard];
    return ScaledRanks::good_cut(shard, cut);
  }

 protected:
  void change_file(SyncShardCore& core, std::optional<RankFile>& file, Step newest) const override {
    if (file) file->entries = in_cuts_[{core.store().layout().shard(), newest}];
  }

 private:
  mutable std::map<std::uint32_t, std::vector<SharedRankEntry>> newest_;
  mutable std::map<std::pair<std::uint32_t, Step>, std::vector<SharedRankEntry>> in_cuts_;
};

/// E5: the number of a contribution is computed as if all steps had the present ranks.
struct NumbersByPresentRanks : ScaledRanks<> {
  using ScaledRanks::ScaledRanks;
  [[nodiscard]] auto contribution_of(const Compute& work, Rank rank) const -> std::vector<SharedBuffer> override {
    Compute changed = work;
    changed.number = (work.step - 1) * work.entry->ranks.size() + work.entry->place_of(rank);
    return ScaledRanks::contribution_of(changed, rank);
  }
};

/// E4: a shard completes a step by its own log.
struct CompletesByItsOwnLog : SyncShardCore {
  using SyncShardCore::SyncShardCore;
  void push(Peer peer, Contribution contribution, auto& out) {
    if (contribution.step != 0) contribution.entry = rank_log()->log()->entry_of(contribution.step);
    SyncShardCore::push(peer, std::move(contribution), out);
  }
};

/// A shard takes the learning rate of the newest entry that it knows, not of the one that contributions state.
struct ScalesByItsNewestEntry : SyncShardCore {
  using SyncShardCore::SyncShardCore;
  void push(Peer peer, Contribution contribution, auto& out) {
    if (contribution.step != 0 && contribution.entry->number > 1) {
      const SharedRankEntry newest = rank_log()->log()->entries().back();
      rank_log()->hear(contribution.entry);
      contribution.entry = mistaken(contribution, *newest);
    }
    SyncShardCore::push(peer, std::move(contribution), out);
  }

 private:
  // Returns the entry with the rate of `newest`, one for all contributions to the step. Its number is lower, so it
  // takes the place of no entry in the log.
  auto mistaken(const Contribution& contribution, const RankEntry& newest) -> SharedRankEntry {
    RankEntry changed = *contribution.entry;
    --changed.number;
    const double factor = newest.factor_of(std::max(contribution.step, newest.from));
    changed.rate = {factor, factor, 0};
    const auto made = std::make_shared<const RankEntry>(std::move(changed));
    return of_steps_.insert({contribution.step, made}).first->second;
  }
  std::map<Step, SharedRankEntry> of_steps_;
};

using WorkerMistake = simulation::WorkerMistake<SyncWorkerCore>;

/// A worker that is told other logs than shards tell it.
class HearsOtherLogs : public WorkerMistake {
 public:
  void joined(SyncWorkerCore& core, std::uint32_t shard, Progress progress, WorkerActions& out) override {
    core.joined(shard, heard(shard, std::move(progress)), out);
  }
  void notice(SyncWorkerCore& core, std::uint32_t shard, Progress progress, WorkerActions& out) override {
    core.notice(shard, heard(shard, std::move(progress)), out);
  }
  void pushed(SyncWorkerCore& core, std::uint32_t shard, Progress progress, WorkerActions& out) override {
    core.pushed(shard, heard(shard, std::move(progress)), out);
  }
  void values(SyncWorkerCore& core, std::uint32_t shard, Step step, SharedBuffer block, Progress progress,
              WorkerActions& out) override {
    core.values(shard, step, std::move(block), heard(shard, std::move(progress)), out);
  }

 protected:
  /// Returns the log that it hears; `log` is the one that the shard tells.
  virtual auto log_of(std::uint32_t shard, const SharedRankLog& log) -> SharedRankLog = 0;

 private:
  auto heard(std::uint32_t shard, Progress progress) -> Progress {
    progress.ranks = log_of(shard, progress.ranks);
    return progress;
  }
};

/// E4: the ranks follow from the log of one shard.
struct HearsOneShard : HearsOtherLogs {
  auto log_of(std::uint32_t shard, const SharedRankLog& log) -> SharedRankLog override {
    return shard == 0 ? log : nullptr;
  }
};

/// E4: only entries that all shards have count.
class HearsWhatAllSay : public HearsOtherLogs {
 public:
  explicit HearsWhatAllSay(const Job& job) : job_{job}, logs_(job.shards()) {}

 private:
  auto log_of(std::uint32_t shard, const SharedRankLog& log) -> SharedRankLog override {
    logs_[shard] = log;
    RankLog common{job_.ranks};
    for (const SharedRankEntry& entry : log->entries())
      if (std::ranges::all_of(logs_, [&](const SharedRankLog& other) {
            return other != nullptr && *other->entry_of(entry->from) == *entry;
          }))
        common.add(entry);
    return std::make_shared<const RankLog>(std::move(common));
  }

  Job job_;
  std::vector<SharedRankLog> logs_;
};

/// E4: a contribution that is sent again states the ranks of the present step.
struct StatesPresentRanks : WorkerMistake {
  void joined(SyncWorkerCore& core, std::uint32_t shard, Progress progress, WorkerActions& out) override {
    const SharedRankLog log = progress.ranks;
    const auto join = [&](WorkerActions& told) { core.joined(shard, std::move(progress), told); };
    simulation::pass_on(out, join, [&](WorkerAction& action) {
      if (auto* const push = std::get_if<SendPush>(&action); push != nullptr && push->contribution.step != 0)
        push->contribution.entry = log->entry_of(core.step() + 1);
      return true;
    });
  }
};

template <class Shard>
auto run_with_shard(std::uint64_t seed) -> std::string {
  return simulation::run<ScaledRanks<Shard>>(seed);
}

template <class Mistake>
auto run_with_worker(std::uint64_t seed) -> std::string {
  simulation::Plant<WorkerMistake>::choose<Mistake>();
  return simulation::run<ScaledRanks<SyncShardCore, simulation::MistakenWorker<SyncWorkerCore>>>(seed);
}

const simulation::Planted mistakes[] = {
    {"an entry is taken when its step is not under way yet", simulation::run<TakesEntriesLate>},
    {"the horizon is not durable", simulation::run<ForgetsTheHorizon>},
    {"entries are only in cuts", simulation::run<KeepsEntriesInCuts>},
    {"contributions are numbered by the present ranks", simulation::run<NumbersByPresentRanks>},
    {"a shard completes a step by its own log", run_with_shard<CompletesByItsOwnLog>},
    {"a shard takes the rate of its newest entry", run_with_shard<ScalesByItsNewestEntry>},
    {"the log of one shard counts", run_with_worker<HearsOneShard>},
    {"only entries that all shards have count", run_with_worker<HearsWhatAllSay>},
    {"a contribution that is sent again states the present ranks", run_with_worker<StatesPresentRanks>},
};

}  // namespace

TEST_CASE("Random runs: mistakes about ranks that change are found", "[simulation]") {
  CHECK(simulation::first_seed({"none", run_with_worker<WorkerMistake>}, 100) == 100);
  simulation::check_found(mistakes);
}

TEST_CASE("Random runs: how often mistakes about ranks that change are found", "[.found][simulation]") {
  simulation::print_found(mistakes);
}
