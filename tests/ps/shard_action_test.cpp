// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/shard_action.hpp>

#include "support/catch.hpp"

TEST_CASE("ShardAction: a list of what to do, in order", "[ps]") {
  distrib::ShardActions actions;
  const auto block = std::make_shared<const distrib::AlignedBuffer>(64);
  actions.push_back(distrib::SaveCut{{7, block, {}, {3, 4}}});
  actions.push_back(distrib::DropCut{5});
  actions.push_back(distrib::ShardDone{});
  const auto& save = std::get<distrib::SaveCut>(actions[0]);
  CHECK(save.cut.step == 7);
  CHECK(save.cut.values == block);  // shared, not copied
  CHECK(save.cut.applied == std::vector<distrib::Step>{3, 4});
  CHECK(std::get<distrib::DropCut>(actions[1]).step == 5);
  CHECK(std::holds_alternative<distrib::ShardDone>(actions[2]));
}
