// SPDX-License-Identifier: Apache-2.0
// Mistakes that only jobs with tables show: random runs must find them, or they would find no real ones either.
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
  enum class Mistake { none, newest_rows, forgets_uses, forgets_counted_keys };
  static inline Mistake mistake = Mistake::none;

  MistakenShard(const Job& job, std::uint32_t shard, const JobUpdaters& updaters)
      : SyncShardCore{job, shard, updaters} {}
  MistakenShard(const Job& job, std::uint32_t shard, const JobUpdaters& updaters, const Cut& newest,
                std::vector<Step> cuts)
      : SyncShardCore{job, shard, updaters, spoil(newest, job), std::move(cuts)} {}

  // The values of k-1 with the rows of k.
  void pull(Peer peer, Step step, auto& out, PullRows rows) {
    if (mistake != Mistake::newest_rows || rows.keys.empty())
      return SyncShardCore::pull(peer, step, out, std::move(rows));
    const PullRows copy = rows;
    const auto replace = [&](auto reply) {
      if constexpr (std::is_same_v<decltype(reply), ValuesReply>) {
        auto block = std::make_shared<AlignedBuffer>(reply.block->size());
        std::ranges::copy(store().values(copy)->bytes(), block->bytes().begin());
        std::ranges::copy(reply.block->bytes().first(store().layout().block_bytes()), block->bytes().begin());
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
