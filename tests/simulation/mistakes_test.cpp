// SPDX-License-Identifier: Apache-2.0
// Mistakes that only jobs with tables, with backup workers, or with full disks show: random runs must find them, or they
// would find no real ones either.
#include "simulation/backup_rules.hpp"
#include "simulation/synchronous_rules.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <type_traits>
#include <utility>
#include <vector>

using namespace distrib;

namespace {

/// A shard that has a mistake.
class MistakenShard : public SyncShardCore {
 public:
  enum class Mistake { none, newest_rows, forgets_uses, forgets_counted_keys, tries_no_cut_again };
  static inline Mistake mistake = Mistake::none;

  MistakenShard(const Job& job, std::uint32_t shard, const JobUpdaters& updaters)
      : SyncShardCore{job, shard, updaters} {}
  MistakenShard(const Job& job, std::uint32_t shard, const JobUpdaters& updaters, const Cut& newest,
                std::vector<Step> cuts)
      : SyncShardCore{job, shard, updaters, spoil(newest, job), std::move(cuts)} {}

  void save_again(auto& out) {
    if (mistake != Mistake::tries_no_cut_again) SyncShardCore::save_again(out);
  }

  // The values of k-1 with the rows of k.
  void pull(Peer peer, Step step, auto& out, PullRows rows) {
    if (mistake != Mistake::newest_rows || rows.keys.empty())
      return SyncShardCore::pull(peer, step, out, std::move(rows));
    const PullRows copy = rows;
    const auto replace = [&](auto reply) {
      if constexpr (std::is_same_v<decltype(reply), ValuesReply>) {
        auto block = std::make_shared<AlignedBuffer>(reply.block->size());
        std::ranges::copy(store().values(copy)->bytes(), block->bytes().begin());
        std::ranges::copy(reply.block->bytes().first(store().layout().wire_block_bytes()), block->bytes().begin());
        reply.block = std::move(block);
      }
      out(std::move(reply));
    };
    SyncShardCore::pull(peer, step, replace, std::move(rows));
  }

 private:
  // A shard that comes back does not know how often, or not even that, keys were counted.
  static auto spoil(Cut cut, const Job& job) -> Cut {
    for (std::size_t table = 0; table < cut.tables.size(); ++table) {
      TableCut& of = cut.tables[table];
      if (!job.tables[table].any_key()) continue;
      auto uses = std::make_shared<AlignedBuffer>(of.uses->size());
      if (mistake == Mistake::forgets_uses) std::ranges::fill(uses->as<KeyUse>(), KeyUse{1, 0});
      else std::ranges::copy(of.uses->bytes(), uses->bytes().begin());
      if (mistake == Mistake::forgets_counted_keys) {
        const std::size_t rows = of.rows->size() / (2 * job.tables[table].row_bytes());  // both updaters have one slot
        auto keys = std::make_shared<AlignedBuffer>(rows * sizeof(std::uint64_t));
        std::copy_n(of.keys->data(), keys->size(), keys->data());
        of.keys = std::move(keys);
        uses->resize(rows * sizeof(KeyUse));
      }
      of.uses = std::move(uses);
    }
    return cut;
  }
};

/// The first seed that shows it; `most`: none does.
auto first_seed(MistakenShard::Mistake mistake, std::uint64_t most) -> std::uint64_t {
  MistakenShard::mistake = mistake;
  std::uint64_t seed = 0;
  while (seed < most && simulation::Carrier<simulation::Synchronous<MistakenShard>>{seed}.run().empty()) ++seed;
  return seed;
}

}  // namespace

TEST_CASE("Random runs find what only tables show", "[simulation]") {
  using enum MistakenShard::Mistake;
  constexpr std::uint64_t most = 300;
  CHECK(first_seed(none, 20) == 20);
  for (const auto mistake : {newest_rows, forgets_uses, forgets_counted_keys}) {
    CAPTURE(static_cast<int>(mistake));
    CHECK(first_seed(mistake, most) < most);
  }
}

TEST_CASE("Random runs find what only full disks show", "[simulation]") {
  constexpr std::uint64_t most = 300;
  CHECK(first_seed(MistakenShard::Mistake::tries_no_cut_again, most) < most);
}

namespace {

enum class BackupMistake { none, late_ones_count, gone_is_nothing, newest_step };
BackupMistake backup_mistake = BackupMistake::none;

/// A shard for which a contribution that is too late is one for the next step.
struct LateShard : SyncShardCore {
  using SyncShardCore::SyncShardCore;
  void push(Peer peer, Contribution contribution, auto& out) {
    if (backup_mistake == BackupMistake::late_ones_count && contribution.step <= step()) contribution.step = step() + 1;
    SyncShardCore::push(peer, std::move(contribution), out);
  }
};

/// A worker that waits on when it is told Gone, or goes on at the newest step, which not all shards may have.
struct LateWorker : SyncWorkerCore {
  using SyncWorkerCore::SyncWorkerCore;
  void gone(std::uint32_t shard, Step step, Progress progress, auto& out) {
    if (backup_mistake != BackupMistake::gone_is_nothing) SyncWorkerCore::gone(shard, step, std::move(progress), out);
  }
  void joined(std::uint32_t shard, Progress progress, auto& out) {
    newest = std::max(newest, progress.done);
    if (backup_mistake == BackupMistake::newest_step) progress.done = newest;
    SyncWorkerCore::joined(shard, std::move(progress), out);
  }
  Step newest = 0;
};

}  // namespace

TEST_CASE("Random runs find what only backup workers show", "[simulation]") {
  using enum BackupMistake;
  constexpr std::uint64_t most = 300;
  for (const auto mistake : {none, late_ones_count, gone_is_nothing, newest_step}) {
    backup_mistake = mistake;
    std::uint64_t seed = 0;
    const std::uint64_t end = mistake == none ? 20 : most;
    while (seed < end && simulation::Carrier<simulation::BackupWorkers<LateShard, LateWorker>>{seed}.run().empty())
      ++seed;
    CAPTURE(static_cast<int>(mistake), seed);
    CHECK((seed == end) == (mistake == none));
  }
}
