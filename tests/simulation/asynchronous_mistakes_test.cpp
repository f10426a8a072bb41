// SPDX-License-Identifier: Apache-2.0
// Mistakes in the rules of asynchronous and stale-synchronous jobs. Random runs must find each of them, or they would
// not find real ones either.
#include "simulation/asynchronous_rules.hpp"
#include "simulation/planted.hpp"

#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/store/table_gradients.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <string>
#include <system_error>
#include <utility>

using namespace distrib;
using simulation::Plant;
using simulation::WorkerMistake;
using support::ShardActions;

namespace {

/// The events of an asynchronous shard that a mistake can override.
struct ShardMistake {
  ShardMistake() = default;
  ShardMistake(const ShardMistake&) = delete;
  auto operator=(const ShardMistake&) -> ShardMistake& = delete;
  virtual ~ShardMistake() = default;

  /// Change what the shard is made of: the job, and the cut of a shard that comes back.
  virtual void change_job(Job&) {}
  virtual void change_cut(Cut&) {}

  virtual void push(AsyncShardCore& core, Peer peer, Contribution contribution, ShardActions& out) {
    core.push(peer, std::move(contribution), out);
  }
};

/// A shard with the chosen mistake.
class MistakenShard : public AsyncShardCore {
 public:
  template <class... Newest>
  MistakenShard(const Job& job, std::uint32_t shard, const JobUpdaters& updaters, const Newest&... newest)
      : MistakenShard{Plant<ShardMistake>::make(job), job, shard, updaters, newest...} {}

  void push(Peer peer, Contribution contribution, ShardActions& out) {
    mistake_->push(*this, peer, std::move(contribution), out);
  }

 private:
  template <class... Newest>
  MistakenShard(std::unique_ptr<ShardMistake> mistake, const Job& job, std::uint32_t shard, const JobUpdaters& updaters,
                const Newest&... newest)
      : AsyncShardCore{changed(*mistake, job), shard, updaters, changed(*mistake, newest)...},
        mistake_{std::move(mistake)} {}

  static auto changed(ShardMistake& mistake, Job job) -> Job {
    mistake.change_job(job);
    return job;
  }
  static auto changed(ShardMistake& mistake, Cut cut) -> Cut {
    mistake.change_cut(cut);
    return cut;
  }

  std::unique_ptr<ShardMistake> mistake_;
};

struct AppliesRepeats : ShardMistake {
  void push(AsyncShardCore& core, Peer peer, Contribution contribution, ShardActions& out) override {
    if (contribution.step <= core.progress(contribution.rank).done) {
      const ReadContribution repeat = core.store().read(contribution.block).first;
      std::error_code ec;
      core.store().apply(core.step() + 1, std::span{&repeat, 1}, ec);
    }
    core.push(peer, std::move(contribution), out);
  }
};

/// Counts the contributions that are missing as contributions without gradients.
struct AcceptsGaps : ShardMistake {
  void push(AsyncShardCore& core, Peer peer, Contribution contribution, ShardActions& out) override {
    Contribution missing{.rank = contribution.rank, .block = nothing(core.store().layout())};
    for (missing.step = core.progress(missing.rank).done + 1; missing.step < contribution.step; ++missing.step)
      core.push(peer, missing, out);
    core.push(peer, std::move(contribution), out);
  }

 private:
  static auto nothing(const ShardLayout& of) -> SharedBuffer {
    const ContributionLayout layout{of, KeyLists(of.tables().size())};
    auto block = std::make_shared<AlignedBuffer>(layout.size_bytes());
    layout.write_keys(block->bytes());
    return block;
  }
};

/// A shard that comes back does not find in its cut which contributions its values contain.
struct LeavesAppliedOutOfCuts : ShardMistake {
  void change_cut(Cut& cut) override { cut.applied.clear(); }
};

/// Whatever the job says, ranks may be as far apart as they like.
struct HasNoGate : ShardMistake {
  void change_job(Job& job) override { job.consistency = AsynchronousParallel{}; }
};

/// The values of the initializers count as the custom initial values.
struct BeginsWithoutTheInitialValues : ShardMistake {
  void change_job(Job& job) override { job.initial_blocks.clear(); }
};

/// Contribution 0 replaces the trained values, whenever it arrives.
struct BeginsAgain : ShardMistake {
  void push(AsyncShardCore& core, Peer peer, Contribution contribution, ShardActions& out) override {
    const SharedBuffer block = contribution.block;
    const bool is_late = contribution.step == 0 && core.step() != 0;
    core.push(peer, std::move(contribution), out);
    if (is_late) core.store().begin(block);
  }
};

void takes_counted_for_durable(const Job&, Progress& progress) { progress.cuts = {progress.done}; }
using TakesCountedForDurable = simulation::Misunderstands<AsyncWorkerCore, takes_counted_for_durable>;

using MistakenWorker = simulation::MistakenWorker<AsyncWorkerCore>;

/// Runs a seed whose shards and workers have these mistakes.
template <class OfShard, class OfWorker = WorkerMistake<AsyncWorkerCore>>
auto run_with(std::uint64_t seed) -> std::string {
  Plant<ShardMistake>::choose<OfShard>();
  Plant<WorkerMistake<AsyncWorkerCore>>::choose<OfWorker>();
  return simulation::run<simulation::Asynchronous<MistakenShard, MistakenWorker>>(seed);
}
template <class Mistake>
constexpr auto on_shard = run_with<Mistake>;
template <class Mistake>
constexpr auto on_worker = run_with<ShardMistake, Mistake>;

constexpr simulation::Planted mistakes[] = {
    {"repeated contributions are applied again", on_shard<AppliesRepeats>},
    {"missing contributions count as contributions without gradients", on_shard<AcceptsGaps>},
    {"a cut does not say which contributions it contains", on_shard<LeavesAppliedOutOfCuts>},
    {"the staleness bound is ignored", on_shard<HasNoGate>},
    {"a worker treats counted contributions as durable", on_worker<TakesCountedForDurable>},
    {"a shard does not wait for custom initial values", on_shard<BeginsWithoutTheInitialValues>},
    {"a late contribution 0 replaces the values", on_shard<BeginsAgain>},
};

}  // namespace

TEST_CASE("Random runs find each mistake in the rules of asynchronous jobs", "[simulation]") {
  CHECK(simulation::first_seed({"none", on_shard<ShardMistake>}, 100) == 100);
  simulation::check_found(mistakes);
}

TEST_CASE("Random runs: how often they find mistakes of asynchronous jobs", "[.found][simulation]") {
  simulation::print_found(mistakes);
}
