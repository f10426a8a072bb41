// SPDX-License-Identifier: Apache-2.0
// Mistakes in the rules about ranks that change in asynchronous jobs: the mistakes of docs/design/membership.md. Random
// runs must find each.
#include "simulation/planted.hpp"
#include "simulation/scaled_asynchronous_rules.hpp"

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
using simulation::ScaledAsynchronous;
using support::ShardActions;
using support::WorkerAction;
using support::WorkerActions;

namespace {

/// E2: an entry is taken if only its step is not under way yet.
struct TakesEntriesAtOnce : ScaledAsynchronous<> {
  using ScaledAsynchronous::ScaledAsynchronous;
  void propose(AsyncShardCore& core, const RankEntry& entry) override {
    if (entry.from > core.rank_step() + 1) core.rank_log()->hear(std::make_shared<const RankEntry>(entry));
  }
};

/// E1: a shard that comes back takes the newest step of its cut for the horizon.
struct LosesTheHorizon : ScaledAsynchronous<> {
  using ScaledAsynchronous::ScaledAsynchronous;

 protected:
  void change_file(AsyncShardCore&, std::optional<RankFile>& file, Step newest) const override {
    if (file) file->horizon = newest;
  }
};

/// A shard that comes back has the entries that it had when its newest cut was made.
struct HasEntriesOfItsCut : ScaledAsynchronous<> {
  using ScaledAsynchronous::ScaledAsynchronous;
  void agreed(std::uint32_t shard, const RankFile& file) override {
    ScaledAsynchronous::agreed(shard, file);
    newest_[shard] = file.entries;
  }
  [[nodiscard]] auto good_cut(std::uint32_t shard, const Cut& cut) const -> bool override {
    in_cuts_[{shard, cut.step}] = newest_[shard];
    return ScaledAsynchronous::good_cut(shard, cut);
  }

 protected:
  void change_file(AsyncShardCore& core, std::optional<RankFile>& file, Step) const override {
    if (file) file->entries = in_cuts_[{core.store().layout().shard(), core.step()}];
  }

 private:
  mutable std::map<std::uint32_t, std::vector<SharedRankEntry>> newest_;
  mutable std::map<std::pair<std::uint32_t, Step>, std::vector<SharedRankEntry>> in_cuts_;
};

/// E5: the number of a contribution is computed as if all steps had the present ranks.
struct CountsByPresentRanks : ScaledAsynchronous<> {
  using ScaledAsynchronous::ScaledAsynchronous;
  [[nodiscard]] auto contribution_of(const Compute& work, Rank rank) const -> std::vector<SharedBuffer> override {
    Compute changed = work;
    changed.number = (work.step - 1) * work.entry->ranks.size() + work.entry->place_of(rank);
    return ScaledAsynchronous::contribution_of(changed, rank);
  }
};

/// Whatever is missing before it, a later contribution counts.
struct CountsOverGaps : AsyncShardCore {
  using AsyncShardCore::AsyncShardCore;
  void push(Peer peer, Contribution contribution, ShardActions& out) {
    const Step counted = progress(contribution.rank).done;
    if (contribution.step > counted) contribution.after = counted;
    AsyncShardCore::push(peer, std::move(contribution), out);
  }
};

using WorkerMistake = simulation::WorkerMistake<AsyncWorkerCore>;

/// A worker hears of entries only with the answers to what it has asked for.
struct HearsNoNotices : WorkerMistake {
  void notice(AsyncWorkerCore& core, std::uint32_t shard, Progress progress, WorkerActions& out) override {
    progress.ranks = nullptr;
    core.notice(shard, std::move(progress), out);
  }
};

/// E4: the ranks follow from the log of one shard.
struct HearsTheFirstShard : WorkerMistake {
  void joined(AsyncWorkerCore& core, std::uint32_t shard, Progress progress, WorkerActions& out) override {
    core.joined(shard, heard(shard, std::move(progress)), out);
  }
  void notice(AsyncWorkerCore& core, std::uint32_t shard, Progress progress, WorkerActions& out) override {
    core.notice(shard, heard(shard, std::move(progress)), out);
  }
  void pushed(AsyncWorkerCore& core, std::uint32_t shard, Progress progress, WorkerActions& out) override {
    core.pushed(shard, heard(shard, std::move(progress)), out);
  }
  void values(AsyncWorkerCore& core, std::uint32_t shard, Step step, SharedBuffer block, Progress progress,
              WorkerActions& out) override {
    core.values(shard, step, std::move(block), heard(shard, std::move(progress)), out);
  }

 private:
  static auto heard(std::uint32_t shard, Progress progress) -> Progress {
    if (shard != 0) progress.ranks = nullptr;
    return progress;
  }
};

template <class Shard>
auto run_with_shard(std::uint64_t seed) -> std::string {
  return simulation::run<ScaledAsynchronous<Shard>>(seed);
}

template <class Mistake>
auto run_with_worker(std::uint64_t seed) -> std::string {
  simulation::Plant<WorkerMistake>::choose<Mistake>();
  return simulation::run<ScaledAsynchronous<AsyncShardCore, simulation::MistakenWorker<AsyncWorkerCore>>>(seed);
}

const simulation::Planted mistakes[] = {
    {"an entry is taken when its step is not under way yet", simulation::run<TakesEntriesAtOnce>},
    {"the horizon is not durable", simulation::run<LosesTheHorizon>},
    {"entries are only in cuts", simulation::run<HasEntriesOfItsCut>},
    {"contributions are numbered by the present ranks", simulation::run<CountsByPresentRanks>},
    {"gaps are accepted", run_with_shard<CountsOverGaps>},
    {"the log of one shard counts", run_with_worker<HearsTheFirstShard>},
    {"a shard does not say at once that its log has changed", run_with_worker<HearsNoNotices>},
};

}  // namespace

TEST_CASE("Random runs: mistakes about ranks that change in asynchronous jobs are found", "[simulation]") {
  CHECK(simulation::first_seed({"none", run_with_worker<WorkerMistake>}, 100) == 100);
  simulation::check_found(mistakes);
}

TEST_CASE("Random runs: how often mistakes about ranks that change in asynchronous jobs are found",
          "[.found][simulation]") {
  simulation::print_found(mistakes);
}
