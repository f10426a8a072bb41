// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/initial_cut.hpp>

#include <distrib/optimizer/ftrl.hpp>
#include <distrib/ps/sync_shard_core.hpp>

#include "ps/loopback_job.hpp"
#include "support/actions.hpp"
#include "support/catch.hpp"

using namespace distrib;

TEST_CASE("initial_cut: what a shard starts with", "[ps]") {
  const Job job = loopback_job::make(2, 1);
  const JobUpdaters updaters{Ftrl{.initial_accumulator_value = 0.25F}};
  for (std::uint32_t shard = 0; shard < 2; ++shard) {
    const Cut cut = initial_cut(job, ShardLayout{job, shard}, updaters);
    CHECK(cut.step == 0);
    CHECK(cut.applied.empty());
    const SyncShardCore core{job, shard, updaters};
    CHECK(std::ranges::equal(cut.values->bytes(), core.store().dense()->bytes()));
    REQUIRE(cut.slots.size() == 2);
    CHECK(std::ranges::all_of(cut.slots[0]->as<float>(), [](float x) { return x == 0.25F; }));
    CHECK(std::ranges::all_of(cut.slots[1]->as<float>(), [](float x) { return x == 0.0F; }));
    CHECK(cut.slots[1]->size() == cut.values->size());
  }
}
