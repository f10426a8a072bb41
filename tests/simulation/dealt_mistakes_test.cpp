// SPDX-License-Identifier: Apache-2.0
// Mistakes in dealing ranks, in serving them, and in sums of ranks. Random runs must find each of them. Those in the tree
// of a shard itself are one-line changes of its text: tests/mutations.py has them.
#include "simulation/dealt_rules.hpp"
#include "simulation/planted.hpp"

#include "support/catch.hpp"

#include <distrib/core/bytes.hpp>
#include <distrib/core/crc32c.hpp>
#include <distrib/ps/job/rank_block.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/sum_blocks.hpp>
#include <distrib/ps/store/wire_block.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <map>
#include <memory>
#include <set>
#include <span>
#include <string>
#include <utility>
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
  void ended(RankBlock ranks, int code, auto& out) {
    struct Sink {
      decltype(out) to;
      void operator()(StartRanks) {}
      void operator()(StopRanks action) { to(action); }
      void operator()(ProcessDone action) { to(action); }
    } sink{out};
    ServedRanks::ended(ranks, code, sink);
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

// --- sums ---

/// The contributions of a block, as float32 sums: those of a worker that makes them by another rule.
class OtherSums : public DealtRanks<> {
 public:
  using DealtRanks::DealtRanks;

 protected:
  /// Adds the contributions of ranks from `begin` to `end` - 1 one after another: ((0 + 1) + 2) + 3.
  auto one_after_another(Rank begin, Rank end, Step step, std::span<const SharedBuffer> values)
      -> std::vector<std::shared_ptr<AlignedBuffer>> {
    const auto sums = new_blocks();
    const auto one = new_blocks();
    for (Rank rank = begin; rank < end; ++rank) {
      const auto made = contribution(step, rank, values);
      for (std::size_t shard = 0; shard < sums.size(); ++shard) {
        const ShardLayout& layout = layouts()[shard];
        decode_block(layout, made[shard]->bytes(), (rank == begin ? sums : one)[shard]->bytes());
        if (rank != begin) sum_blocks(layout, sums[shard]->bytes(), one[shard]->bytes(), sums[shard]->bytes());
      }
    }
    return sums;
  }
};

/// A block is summed in rank order, not in the tree.
struct SumsInRankOrder : OtherSums {
  using OtherSums::OtherSums;
  auto contribution_of(RankBlock ranks, Step step, std::span<const SharedBuffer> values, auto made_as) {
    if (ranks.level == 0) return DealtRanks::contribution_of(ranks, step, values, made_as);
    const auto sums = one_after_another(ranks.first, ranks.end(job.ranks), step, values);
    return std::vector<SharedBuffer>{sums.begin(), sums.end()};
  }
};

/// Three ranks in a row are pushed by the name of a block that has more.
struct SumsWhatIsNotAligned : OtherSums {
  using OtherSums::OtherSums;
  auto contribution_of(RankBlock ranks, Step step, std::span<const SharedBuffer> values, auto made_as) {
    if (ranks.end(job.ranks) - ranks.first < 4) return DealtRanks::contribution_of(ranks, step, values, made_as);
    const auto sums = one_after_another(ranks.first, ranks.first + 3, step, values);
    return std::vector<SharedBuffer>{sums.begin(), sums.end()};
  }
};

/// A sum is rounded as a contribution is that travels.
struct RoundsSums : DealtRanks<> {
  using DealtRanks::DealtRanks;
  auto contribution_of(RankBlock ranks, Step step, std::span<const SharedBuffer> values, auto made_as) {
    auto made = DealtRanks::contribution_of(ranks, step, values, made_as);
    if (ranks.level == 0) return made;
    const auto rounded = new_blocks();
    for (std::size_t shard = 0; shard < made.size(); ++shard) {
      const SharedBuffer sent = wire_block(layouts()[shard], made[shard]);
      decode_block(layouts()[shard], sent->bytes(), rounded[shard]->bytes());
      made[shard] = rounded[shard];
    }
    return made;
  }
};

/// A shard that remembers which blocks of ranks it was sent since it last was told where it stands.
class RemembersBlocks : public SyncShardCore {
 public:
  using SyncShardCore::SyncShardCore;

 protected:
  /// Returns the blocks of this step that are not `ranks`, and lie in it, or it in them.
  [[nodiscard]] auto others(Step step, RankBlock ranks) const -> std::vector<const Contribution*> {
    std::vector<const Contribution*> met;
    if (const auto of_step = came_.find(step); of_step != came_.end())
      for (const auto& [block, contribution] : of_step->second)
        if (block != ranks && block.meets(ranks)) met.push_back(&contribution);
    return met;
  }
  /// Returns what came for a step, each block once.
  [[nodiscard]] auto of_step(Step step) const -> std::vector<Contribution> {
    std::vector<Contribution> came;
    if (const auto known = came_.find(step); known != came_.end())
      for (const auto& [block, contribution] : known->second) came.push_back(contribution);
    return came;
  }
  void remember(const Contribution& contribution) {
    came_.erase(came_.begin(), came_.upper_bound(step()));
    if (contribution.step > step()) came_[contribution.step].insert({contribution.ranks(), contribution});
  }

 private:
  std::map<Step, std::map<RankBlock, Contribution>> came_;
};

/// The sum of a block is dropped, because a part of it is there.
struct DropsLarger : RemembersBlocks {
  using RemembersBlocks::RemembersBlocks;
  void push(Peer peer, Contribution contribution, auto& out) {
    for (const Contribution* const other : others(contribution.step, contribution.ranks()))
      if (contribution.ranks().covers(other->ranks())) return out(PushedReply{peer, contribution.step, progress()});
    remember(contribution);
    SyncShardCore::push(peer, std::move(contribution), out);
  }
};

/// The sum of a block is counted beside its parts.
struct CountsBeside : RemembersBlocks {
  using RemembersBlocks::RemembersBlocks;
  void push(Peer peer, Contribution contribution, auto& out) {
    const Contribution sent = contribution;
    for (const Contribution* const other : others(sent.step, sent.ranks()))
      if (sent.ranks().covers(other->ranks())) {
        const ShardLayout& layout = store().layout();
        AlignedBuffer part{layout.block_bytes()};
        if (other->level == 0) decode_block(layout, other->block->bytes(), part.bytes());
        else std::ranges::copy(other->block->bytes(), part.bytes().begin());
        const auto both = std::make_shared<AlignedBuffer>(layout.block_bytes());
        sum_blocks(layout, contribution.block->bytes(), part.bytes(), both->bytes());
        contribution.block = both;
      }
    remember(sent);
    SyncShardCore::push(peer, std::move(contribution), out);
  }
};

/// A step is complete when the sizes of the blocks that came add up to the number of ranks, whether or not they have the
/// same ranks: what came is added, whatever is in it.
class AddsUpSizes : public RemembersBlocks {
 public:
  template <class... Args>
  explicit AddsUpSizes(const Job& job, Args&&... args)
      : RemembersBlocks{job, std::forward<Args>(args)...}, ranks_{job.ranks} {}

  void push(Peer peer, Contribution contribution, auto& out) {
    const Contribution sent = contribution;
    remember(sent);
    SyncShardCore::push(peer, std::move(contribution), out);
    Rank size = 0;
    std::set<Rank> here;
    for (const Contribution& one : of_step(sent.step)) {
      size += one.ranks().end(ranks_) - one.rank;
      for (Rank rank = one.rank; rank < one.ranks().end(ranks_); ++rank) here.insert(rank);
    }
    if (sent.step <= step() || size < ranks_ || here.size() == ranks_) return;
    const ShardLayout& layout = store().layout();
    const auto total = std::make_shared<AlignedBuffer>(layout.block_bytes());
    AlignedBuffer part{layout.block_bytes()};
    for (const Contribution& one : of_step(sent.step)) {
      if (one.level == 0) decode_block(layout, one.block->bytes(), part.bytes());
      else std::ranges::copy(one.block->bytes(), part.bytes().begin());
      sum_blocks(layout, total->bytes(), part.bytes(), total->bytes());
    }
    Contribution all = sent;
    all.rank = 0;
    for (all.level = 0; all.ranks().end(ranks_) < ranks_;) ++all.level;
    all.block = total;
    all.checksum = crc32c(total->bytes());
    SyncShardCore::push(peer, std::move(all), out);
  }

 private:
  Rank ranks_;
};

/// A contribution is compared with the sum of a block that it is in.
struct ComparesWithWhatCovers : RemembersBlocks {
  using RemembersBlocks::RemembersBlocks;
  void push(Peer peer, Contribution contribution, auto& out) {
    for (const Contribution* const other : others(contribution.step, contribution.ranks()))
      if (other->ranks().covers(contribution.ranks()) && other->checksum != contribution.checksum)
        out(RefusedReply{peer, ps_errc::not_repeatable, contribution.step, contribution.rank});
    remember(contribution);
    SyncShardCore::push(peer, std::move(contribution), out);
  }
};

template <class Mistake>
auto run_with_worker(std::uint64_t seed) -> std::string {
  simulation::Plant<simulation::WorkerMistake<SyncWorkerCore>>::choose<Mistake>();
  return simulation::run<DealtRanks<SyncShardCore, simulation::MistakenWorker<SyncWorkerCore>>>(seed);
}

template <class Shard>
auto run_with_shard(std::uint64_t seed) -> std::string {
  return simulation::run<DealtRanks<Shard>>(seed);
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
    {"a block is summed in rank order", simulation::run<SumsInRankOrder>},
    {"three ranks in a row are pushed as a block of more", simulation::run<SumsWhatIsNotAligned>},
    {"a sum is rounded", simulation::run<RoundsSums>},
    {"the sum of a block is dropped, because a part is there", run_with_shard<DropsLarger>},
    {"the sum of a block is counted beside its parts", run_with_shard<CountsBeside>},
    {"a step is complete when the sizes of what came add up", run_with_shard<AddsUpSizes>},
    {"a contribution is compared with the sum of a block that it is in", run_with_shard<ComparesWithWhatCovers>},
};

}  // namespace

TEST_CASE("Random runs: mistakes in dealing ranks are found", "[simulation]") { simulation::check_found(mistakes); }

TEST_CASE("Random runs: how often mistakes in dealing ranks are found", "[.found][simulation]") {
  simulation::print_found(mistakes);
}
