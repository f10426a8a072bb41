// SPDX-License-Identifier: Apache-2.0
// Mistakes in the rules of asynchronous and stale-synchronous jobs: random runs must find each of them, or they would
// find no real ones either.
#include "simulation/asynchronous_rules.hpp"
#include "simulation/planted.hpp"

#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/store/table_gradients.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <memory>
#include <span>
#include <system_error>
#include <utility>

using namespace distrib;
using simulation::Asynchronous;

namespace {

struct AppliesRepeats : AsyncShardCore {
  using AsyncShardCore::AsyncShardCore;
  void push(Peer peer, Contribution contribution, auto& out) {
    if (contribution.step <= progress(contribution.rank).done) {
      const ReadContribution repeat = store().read(contribution.block).first;
      std::error_code ec;
      store().apply(step() + 1, std::span{&repeat, 1}, ec);
    }
    AsyncShardCore::push(peer, std::move(contribution), out);
  }
};

/// What is missing counts as if it said nothing.
struct AcceptsGaps : AsyncShardCore {
  using AsyncShardCore::AsyncShardCore;
  void push(Peer peer, Contribution contribution, auto& out) {
    Contribution missing{.rank = contribution.rank, .block = nothing()};
    for (missing.step = progress(missing.rank).done + 1; missing.step < contribution.step; ++missing.step)
      AsyncShardCore::push(peer, missing, out);
    AsyncShardCore::push(peer, std::move(contribution), out);
  }

 private:
  [[nodiscard]] auto nothing() const -> SharedBuffer {
    const ContributionLayout layout{store().layout(), KeyLists(store().layout().tables().size())};
    auto block = std::make_shared<AlignedBuffer>(layout.size_bytes());
    layout.write_keys(block->bytes());
    return block;
  }
};

/// A shard that comes back does not find in its cut which contributions the values have.
struct LeavesAppliedOutOfCuts : AsyncShardCore {
  using AsyncShardCore::AsyncShardCore;
  LeavesAppliedOutOfCuts(const Job& job, std::uint32_t shard, const JobUpdaters& updaters, const Cut& cut)
      : AsyncShardCore{job, shard, updaters, Cut{cut.step, cut.values, cut.slots, {}, cut.tables}} {}
};

/// Whatever the job says, ranks may be as far apart as they like.
struct HasNoGate : AsyncShardCore {
  template <class... Cuts>
  HasNoGate(Job job, std::uint32_t shard, const JobUpdaters& updaters, Cuts&&... cuts)
      : AsyncShardCore{(job.consistency = AsynchronousParallel{}, job), shard, updaters, std::forward<Cuts>(cuts)...} {}
};

/// What the initializers give is taken for the values.
struct BeginsWithoutTheInitialValues : AsyncShardCore {
  template <class... Cuts>
  BeginsWithoutTheInitialValues(Job job, std::uint32_t shard, const JobUpdaters& updaters, Cuts&&... cuts)
      : AsyncShardCore{(job.initial_blocks.clear(), job), shard, updaters, std::forward<Cuts>(cuts)...} {}
};

/// Contribution 0 takes the place of what was learnt, whenever it comes.
struct BeginsAgain : AsyncShardCore {
  using AsyncShardCore::AsyncShardCore;
  void push(Peer peer, Contribution contribution, auto& out) {
    const SharedBuffer block = contribution.block;
    const bool is_late = contribution.step == 0 && step() != 0;
    AsyncShardCore::push(peer, std::move(contribution), out);
    if (is_late) store().begin(block);
  }
};

void takes_counted_for_durable(const Job&, Progress& progress) { progress.cuts = {progress.done}; }
using TakesCountedForDurable = simulation::Misunderstands<AsyncWorkerCore, takes_counted_for_durable>;

template <class ShardCore>
constexpr auto on_shard = simulation::run<Asynchronous<ShardCore>>;
template <class WorkerCore>
constexpr auto on_worker = simulation::run<Asynchronous<AsyncShardCore, WorkerCore>>;

constexpr simulation::Planted mistakes[] = {
    {"repeats applied", on_shard<AppliesRepeats>},
    {"gaps accepted", on_shard<AcceptsGaps>},
    {"applied left out of the cut", on_shard<LeavesAppliedOutOfCuts>},
    {"SSP: no gate", on_shard<HasNoGate>},
    {"a worker takes what is counted for durable", on_worker<TakesCountedForDurable>},
    {"a shard does not wait for custom initial values", on_shard<BeginsWithoutTheInitialValues>},
    {"a late contribution 0 counts", on_shard<BeginsAgain>},
};

}  // namespace

TEST_CASE("Random runs find each mistake in the rules of asynchronous jobs", "[simulation]") {
  CHECK(simulation::first_seed({"none", on_shard<AsyncShardCore>}, 100) == 100);
  simulation::check_found(mistakes);
}

TEST_CASE("Random runs: how often they find mistakes of asynchronous jobs", "[.found][simulation]") {
  simulation::print_found(mistakes);
}
