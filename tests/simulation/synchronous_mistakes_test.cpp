// SPDX-License-Identifier: Apache-2.0
// Mistakes in the rules of synchronous jobs. Random runs must find each of them, or they would not find real ones
// either. Mistakes that only backup workers show are in backup_mistakes_test.cpp.
#include "simulation/planted.hpp"
#include "simulation/synchronous_rules.hpp"

#include <distrib/ps/job/consistency.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <iterator>
#include <map>
#include <memory>
#include <set>
#include <string>
#include <utility>
#include <variant>
#include <vector>

using namespace distrib;
using simulation::pass_on;
using simulation::Plant;
using simulation::WorkerMistake;
using support::ShardAction;
using support::ShardActions;
using support::WorkerAction;
using support::WorkerActions;

namespace {

/// The events of a synchronous shard that a mistake can override.
struct ShardMistake {
  ShardMistake() = default;
  ShardMistake(const ShardMistake&) = delete;
  auto operator=(const ShardMistake&) -> ShardMistake& = delete;
  virtual ~ShardMistake() = default;

  /// Change what the shard is made of: the job, and the cut and the list of a shard that comes back.
  virtual void change_job(Job&) {}
  virtual void change_cut(Cut&, const Job&) {}
  virtual void change_list(std::vector<DurableCut>&, const Job&) {}

  virtual void push(SyncShardCore& core, Peer peer, Contribution contribution, ShardActions& out) {
    core.push(peer, std::move(contribution), out);
  }
  virtual void pull(SyncShardCore& core, Peer peer, Step step, ShardActions& out, PullRows rows) {
    core.pull(peer, step, out, std::move(rows));
  }
  virtual void restore(SyncShardCore& core, Peer peer, Step cut, ShardActions& out, std::uint64_t lineage) {
    core.restore(peer, cut, out, lineage);
  }
  virtual void cut_loaded(SyncShardCore& core, const Cut& cut, ShardActions& out) { core.cut_loaded(cut, out); }
  virtual void save_again(SyncShardCore& core, ShardActions& out) { core.save_again(out); }
};

/// A shard with the chosen mistake.
class MistakenShard : public SyncShardCore {
 public:
  MistakenShard(const Job& job, std::uint32_t shard, const JobUpdaters& updaters)
      : MistakenShard{Plant<ShardMistake>::make(job), job, shard, updaters} {}
  MistakenShard(const Job& job, std::uint32_t shard, const JobUpdaters& updaters, const Cut& newest,
                std::vector<DurableCut> cuts)
      : MistakenShard{Plant<ShardMistake>::make(job), job, shard, updaters, newest, std::move(cuts)} {}

  void push(Peer peer, Contribution contribution, ShardActions& out) {
    mistake_->push(*this, peer, std::move(contribution), out);
  }
  void pull(Peer peer, Step step, ShardActions& out, PullRows rows) {
    mistake_->pull(*this, peer, step, out, std::move(rows));
  }
  void restore(Peer peer, Step cut, ShardActions& out, std::uint64_t lineage) {
    mistake_->restore(*this, peer, cut, out, lineage);
  }
  void cut_loaded(const Cut& cut, ShardActions& out) { mistake_->cut_loaded(*this, cut, out); }
  void save_again(ShardActions& out) { mistake_->save_again(*this, out); }

 private:
  MistakenShard(std::unique_ptr<ShardMistake> mistake, const Job& job, std::uint32_t shard, const JobUpdaters& updaters)
      : SyncShardCore{changed(*mistake, job), shard, updaters}, mistake_{std::move(mistake)} {}
  MistakenShard(std::unique_ptr<ShardMistake> mistake, const Job& job, std::uint32_t shard, const JobUpdaters& updaters,
                const Cut& newest, std::vector<DurableCut> cuts)
      : SyncShardCore{changed(*mistake, job), shard, updaters, changed(*mistake, newest, job),
                      changed(*mistake, std::move(cuts), job)},
        mistake_{std::move(mistake)} {}

  static auto changed(ShardMistake& mistake, Job job) -> Job {
    mistake.change_job(job);
    return job;
  }
  static auto changed(ShardMistake& mistake, Cut cut, const Job& job) -> Cut {
    mistake.change_cut(cut, job);
    return cut;
  }

  static auto changed(ShardMistake& mistake, std::vector<DurableCut> cuts, const Job& job) -> std::vector<DurableCut> {
    mistake.change_list(cuts, job);
    return cuts;
  }

  std::unique_ptr<ShardMistake> mistake_;
};

/// The n-th contribution that arrives counts as the contribution of rank n.
struct ReducesInArrivalOrder : ShardMistake {
  void push(SyncShardCore& core, Peer peer, Contribution contribution, ShardActions& out) override {
    std::vector<Rank>& came = came_[contribution.step];
    const auto place = std::ranges::find(came, contribution.rank) - came.begin();
    if (place == std::ssize(came)) came.push_back(contribution.rank);
    contribution.rank = static_cast<Rank>(place);
    core.push(peer, std::move(contribution), out);
  }

 private:
  std::map<Step, std::vector<Rank>> came_;
};

struct AnswersTheNewestStep : ShardMistake {
  void pull(SyncShardCore& core, Peer peer, Step step, ShardActions& out, PullRows rows) override {
    const auto answer = [&](ShardActions& told) {
      core.pull(peer, std::max(step, core.step()), told, std::move(rows));
    };
    pass_on(out, answer, [step](ShardAction& action) {
      if (auto* const reply = std::get_if<ValuesReply>(&action)) reply->step = step;
      return true;
    });
  }
};

/// Cuts hold the values of the step before, except a cut that waited for another cut or for the copying of its tables.
struct CutsTheStepBefore : ShardMistake {
  void push(SyncShardCore& core, Peer peer, Contribution contribution, ShardActions& out) override {
    const SharedBuffer before = core.store().dense();
    const auto count = [&](ShardActions& told) { core.push(peer, std::move(contribution), told); };
    pass_on(out, count, [&before](ShardAction& action) {
      if (auto* const save = std::get_if<SaveCut>(&action)) save->cut.values = before;
      return true;
    });
  }
};

/// The last step is done, so the worker believes that its cut is durable.
void hopes_for_the_last_cut(const Job& job, Progress& progress) {
  if (progress.done == job.total_steps) progress.cuts.push_back(progress.done);
}
using LeavesBeforeTheLastCut = simulation::Misunderstands<SyncWorkerCore, hopes_for_the_last_cut>;

/// The last rank counts as a backup worker.
struct CompletesWithoutTheLast : ShardMistake {
  void change_job(Job& job) override {
    job.consistency = BulkSynchronousParallel{.replicas_to_aggregate = job.ranks - 1};
  }
};

/// While a cut is loaded, the shard answers with the values that it still has.
struct AnswersBeforeTheCutIsLoaded : ShardMistake {
  void restore(SyncShardCore& core, Peer peer, Step cut, ShardActions& out, std::uint64_t lineage) override {
    const auto go_back = [&](ShardActions& told) { core.restore(peer, cut, told, lineage); };
    pass_on(out, go_back, [this](const ShardAction& action) {
      if (std::holds_alternative<LoadCut>(action)) loading_ = true;
      return true;
    });
  }
  void cut_loaded(SyncShardCore& core, const Cut& cut, ShardActions& out) override {
    loading_ = false;
    core.cut_loaded(cut, out);
  }
  void pull(SyncShardCore& core, Peer peer, Step step, ShardActions& out, PullRows rows) override {
    if (!loading_ || step != core.step()) return core.pull(peer, step, out, std::move(rows));
    out(ValuesReply{peer, step, core.store().values(rows), core.progress(), step});
  }

 private:
  bool loading_ = false;
};

/// A worker that did not send the Restore gets a Notice instead of Joined, and keeps the larger k that it knew.
struct TellsOfARestoreByNotice : ShardMistake {
  void restore(SyncShardCore& core, Peer peer, Step cut, ShardActions& out, std::uint64_t lineage) override {
    asked_.insert(peer);
    core.restore(peer, cut, out, lineage);
  }
  void cut_loaded(SyncShardCore& core, const Cut& cut, ShardActions& out) override {
    const auto load = [&](ShardActions& told) { core.cut_loaded(cut, told); };
    pass_on(out, load, [this](ShardAction& action) {
      if (auto* const reply = std::get_if<JoinedReply>(&action); reply != nullptr && !asked_.contains(reply->peer))
        action = NoticeReply{reply->peer, std::move(reply->progress)};
      return true;
    });
    asked_.clear();
  }

 private:
  std::set<Peer> asked_;
};

/// Sends only the newest contribution to a shard that came back and may need older ones too.
struct SendsOnlyTheNewestAgain : WorkerMistake<SyncWorkerCore> {
  void joined(SyncWorkerCore& core, std::uint32_t shard, Progress progress, WorkerActions& out) override {
    const auto send = [&](WorkerActions& told) { core.joined(shard, std::move(progress), told); };
    pass_on(out, send, [&core](const WorkerAction& action) {
      const auto* const push = std::get_if<SendPush>(&action);
      return push == nullptr || push->contribution.step >= core.step();
    });
  }
};

/// The values of the initializers count as the custom initial values.
struct BeginsWithoutTheInitialValues : ShardMistake {
  void change_job(Job& job) override { job.initial_blocks.clear(); }
};

/// A shard that is sent back to step 0 continues with the zeros of its cut 0.
struct GoesBackToZeros : ShardMistake {
  void push(SyncShardCore& core, Peer peer, Contribution contribution, ShardActions& out) override {
    if (contribution.step == 0) initial_ = contribution;
    core.push(peer, std::move(contribution), out);
  }
  void cut_loaded(SyncShardCore& core, const Cut& cut, ShardActions& out) override {
    const auto load = [&](ShardActions& told) { core.cut_loaded(cut, told); };
    pass_on(out, load, [](ShardAction& action) {
      if (auto* const reply = std::get_if<JoinedReply>(&action)) reply->progress.no_values = false;
      return true;
    });
    if (!core.progress().no_values || initial_.block == nullptr) return;
    const auto begin = [&](ShardActions& told) { core.push(0, initial_, told); };
    pass_on(out, begin, [](const ShardAction& action) { return !std::holds_alternative<PushedReply>(action); });
    if (core.step() == 0) core.store().begin(cut.values);
  }

 private:
  Contribution initial_;
};

/// Contribution 0 replaces the trained values, whenever it arrives.
struct BeginsAgain : ShardMistake {
  void push(SyncShardCore& core, Peer peer, Contribution contribution, ShardActions& out) override {
    const SharedBuffer block = contribution.block;
    const bool is_late = contribution.step == 0 && core.step() != 0;
    core.push(peer, std::move(contribution), out);
    if (is_late) core.store().begin(block);
  }
};

/// A worker sends a shard the initial values only once, and not again when the shard starts at step 0 again.
struct BeginsAShardOnce : WorkerMistake<SyncWorkerCore> {
  void joined(SyncWorkerCore& core, std::uint32_t shard, Progress progress, WorkerActions& out) override {
    const auto send = [&](WorkerActions& told) { core.joined(shard, std::move(progress), told); };
    pass_on(out, send, [this](const WorkerAction& action) {
      const auto* const push = std::get_if<SendPush>(&action);
      return push == nullptr || push->contribution.step != 0 || begun_.insert(push->shard).second;
    });
  }

 private:
  std::set<std::uint32_t> begun_;
};

/// A pull gets the values of k-1 with the rows of k.
struct AnswersTheNewestRows : ShardMistake {
  void pull(SyncShardCore& core, Peer peer, Step step, ShardActions& out, PullRows rows) override {
    if (rows.keys.empty()) return core.pull(peer, step, out, std::move(rows));
    const PullRows copy = rows;
    const auto answer = [&](ShardActions& told) { core.pull(peer, step, told, std::move(rows)); };
    pass_on(out, answer, [&](ShardAction& action) {
      if (auto* const reply = std::get_if<ValuesReply>(&action)) {
        auto block = std::make_shared<AlignedBuffer>(reply->block->size());
        std::ranges::copy(core.store().values(copy)->bytes(), block->bytes().begin());
        std::ranges::copy(reply->block->bytes().first(core.store().layout().wire_block_bytes()),
                          block->bytes().begin());
        reply->block = std::move(block);
      }
      return true;
    });
  }
};

/// A shard that comes back does not know how often keys were counted.
struct ForgetsUses : ShardMistake {
  void change_cut(Cut& cut, const Job& job) override {
    for (std::size_t table = 0; table < cut.tables.size(); ++table) {
      if (!job.tables[table].any_key()) continue;
      auto uses = std::make_shared<AlignedBuffer>(cut.tables[table].uses->size());
      std::ranges::fill(uses->as<KeyUse>(), KeyUse{1, 0});
      cut.tables[table].uses = std::move(uses);
    }
  }
};

/// A shard that comes back does not know keys that were only counted.
struct ForgetsCountedKeys : ShardMistake {
  void change_cut(Cut& cut, const Job& job) override {
    for (std::size_t table = 0; table < cut.tables.size(); ++table) {
      if (!job.tables[table].any_key()) continue;
      TableCut& of = cut.tables[table];
      const std::size_t rows = of.rows->size() / (2 * job.tables[table].row_bytes());  // both updaters have one slot
      of.keys = first_of(*of.keys, rows * sizeof(std::uint64_t));
      of.uses = first_of(*of.uses, rows * sizeof(KeyUse));
    }
  }

 private:
  static auto first_of(const AlignedBuffer& all, std::size_t bytes) -> SharedBuffer {
    auto first = std::make_shared<AlignedBuffer>(bytes);
    std::copy_n(all.data(), bytes, first->data());
    return first;
  }
};

/// A shard does not keep to the quotas of the job.
struct HasAQuotaOfItsOwn : ShardMistake {
  void change_job(Job& job) override {
    for (TableInfo& table : job.tables)
      if (table.max_rows != 0) table.max_rows += 1024;
  }
};

/// A shard that comes back does not know when keys were used last.
struct ForgetsLastUses : ShardMistake {
  void change_cut(Cut& cut, const Job& job) override {
    for (std::size_t table = 0; table < cut.tables.size(); ++table) {
      if (job.tables[table].max_rows == 0) continue;
      auto uses = std::make_shared<AlignedBuffer>(cut.tables[table].uses->size());
      std::ranges::transform(cut.tables[table].uses->as<KeyUse>(), uses->as<KeyUse>().begin(),
                             [](KeyUse use) { return KeyUse{use.frequency, 0}; });
      cut.tables[table].uses = std::move(uses);
    }
  }
};

/// A cut that found no disk space is not made again.
struct TriesNoCutAgain : ShardMistake {
  void save_again(SyncShardCore&, ShardActions&) override {}
};

/// Every cut counts as made with the present settings, whenever it was made.
struct KnowsNoLineage : ShardMistake {
  void change_cut(Cut& cut, const Job& job) override { cut.lineage = present(job).until(cut.step); }
  void change_list(std::vector<DurableCut>& cuts, const Job& job) override {
    for (DurableCut& cut : cuts) cut.lineage = present(job).until(cut.step);
  }
  void cut_loaded(SyncShardCore& core, const Cut& cut, ShardActions& out) override {
    Cut changed = cut;
    changed.lineage = core.lineage().until(cut.step);
    core.cut_loaded(changed, out);
  }

 private:
  static auto present(const Job& job) -> Lineage { return Lineage{}.continued(0, settings_hash(to_text(job))); }
};

using MistakenWorker = simulation::MistakenWorker<SyncWorkerCore>;

/// Runs a seed whose shards and workers have these mistakes.
template <class OfShard, class OfWorker = WorkerMistake<SyncWorkerCore>>
auto run_with(std::uint64_t seed) -> std::string {
  Plant<ShardMistake>::choose<OfShard>();
  Plant<WorkerMistake<SyncWorkerCore>>::choose<OfWorker>();
  return simulation::run<simulation::Synchronous<MistakenShard, MistakenWorker>>(seed);
}
template <class Mistake>
constexpr auto on_shard = run_with<Mistake>;
template <class Mistake>
constexpr auto on_worker = run_with<ShardMistake, Mistake>;

constexpr simulation::Planted mistakes[] = {
    {"contributions are added in arrival order", on_shard<ReducesInArrivalOrder>},
    {"a pull is answered with the newest step instead of the named one", on_shard<AnswersTheNewestStep>},
    {"a cut holds the step before its name", on_shard<CutsTheStepBefore>},
    {"a worker leaves before the last cut is durable", on_worker<LeavesBeforeTheLastCut>},
    {"a step completes without the last rank", on_shard<CompletesWithoutTheLast>},
    {"a pull is answered before the cut is loaded", on_shard<AnswersBeforeTheCutIsLoaded>},
    {"a Restore is reported by a Notice", on_shard<TellsOfARestoreByNotice>},
    {"a shard that came back is sent only the newest step", on_worker<SendsOnlyTheNewestAgain>},
    {"a shard does not wait for custom initial values", on_shard<BeginsWithoutTheInitialValues>},
    {"a shard that goes back to step 0 keeps its zeros", on_shard<GoesBackToZeros>},
    {"a late contribution 0 replaces the values", on_shard<BeginsAgain>},
    {"contribution 0 is sent once only", on_worker<BeginsAShardOnce>},
};
constexpr simulation::Planted mistakes_of_tables[] = {
    {"values of a step with the newest rows", on_shard<AnswersTheNewestRows>},
    {"uses of keys are forgotten", on_shard<ForgetsUses>},
    {"keys that were counted are forgotten", on_shard<ForgetsCountedKeys>},
};
constexpr simulation::Planted mistakes_of_quotas[] = {
    {"a shard has a quota of its own", on_shard<HasAQuotaOfItsOwn>},
    {"last uses of keys are forgotten", on_shard<ForgetsLastUses>},
};
constexpr simulation::Planted mistakes_of_changed_settings[] = {
    {"lineages of cuts are not compared", on_shard<KnowsNoLineage>},
};
constexpr simulation::Planted mistakes_of_full_disks[] = {
    {"a cut that found no disk space is not tried again", on_shard<TriesNoCutAgain>},
};

}  // namespace

TEST_CASE("Random runs find each mistake in the rules of synchronous jobs", "[simulation]") {
  CHECK(simulation::first_seed({"none", on_shard<ShardMistake>}, 100) == 100);
  simulation::check_found(mistakes);
}

TEST_CASE("Random runs find mistakes that only tables show", "[simulation]") {
  simulation::check_found(mistakes_of_tables, 300);
}

TEST_CASE("Random runs find mistakes that only tables with max_rows show", "[simulation]") {
  simulation::check_found(mistakes_of_quotas);
}

TEST_CASE("Random runs find a mistake that only a job with other settings after a restart shows", "[simulation]") {
  simulation::check_found(mistakes_of_changed_settings);
}

TEST_CASE("Random runs find a mistake that only full disks show", "[simulation]") {
  simulation::check_found(mistakes_of_full_disks, 300);
}

TEST_CASE("Random runs: how often they find mistakes of synchronous jobs", "[.found][simulation]") {
  simulation::print_found(mistakes);
  simulation::print_found(mistakes_of_tables);
  simulation::print_found(mistakes_of_quotas);
  simulation::print_found(mistakes_of_changed_settings);
  simulation::print_found(mistakes_of_full_disks);
}
