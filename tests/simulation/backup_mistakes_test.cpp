// SPDX-License-Identifier: Apache-2.0
// Mistakes that only jobs with backup workers show. Random runs must find them, or they would not find real ones
// either.
#include "simulation/backup_rules.hpp"

#include "support/catch.hpp"

#include <algorithm>
#include <set>
#include <utility>

using namespace distrib;

namespace {

enum class BackupMistake { none, late_ones_count, gone_is_nothing, newest_step, waits_for_the_lost, lost_for_ever };
BackupMistake backup_mistake = BackupMistake::none;

/// A shard that counts a late contribution for the next step; or waits at the end for ranks that are vacant, or does not
/// wait for those that have come back.
struct LateShard : SyncShardCore {
  using SyncShardCore::SyncShardCore;
  void push(Peer peer, Contribution contribution, auto& out) {
    if (backup_mistake == BackupMistake::late_ones_count && contribution.step <= step()) contribution.step = step() + 1;
    SyncShardCore::push(peer, std::move(contribution), out);
  }
  void vacate(Rank rank, auto& out) {
    if (backup_mistake == BackupMistake::waits_for_the_lost) return;
    told.insert(rank);
    SyncShardCore::vacate(rank, out);
  }
  void join(Peer peer, RankBlock ranks, auto& out) {
    SyncShardCore::join(peer, ranks, out);
    if (backup_mistake == BackupMistake::lost_for_ever && told.contains(ranks.first))
      SyncShardCore::vacate(ranks.first, out);
  }
  std::set<Rank> told;  // these are vacant, or were
};

/// A worker that ignores Gone, or continues at the newest step, which not all shards may have.
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

TEST_CASE("Random runs find mistakes that only backup workers show", "[simulation]") {
  using enum BackupMistake;
  constexpr std::uint64_t most = 300;
  for (const auto mistake : {none, late_ones_count, gone_is_nothing, newest_step, waits_for_the_lost, lost_for_ever}) {
    backup_mistake = mistake;
    std::uint64_t seed = 0;
    const std::uint64_t end = mistake == none ? 20 : most;
    while (seed < end && simulation::Carrier<simulation::BackupWorkers<LateShard, LateWorker>>{seed}.run().empty())
      ++seed;
    CAPTURE(static_cast<int>(mistake), seed);
    CHECK((seed == end) == (mistake == none));
  }
}
