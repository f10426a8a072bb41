// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/shard_action.hpp>

#include "support/catch.hpp"

#include <memory>
#include <utility>
#include <vector>

TEST_CASE("SaveCut: finish() returns the cut with its own blocks and the tables in the job's order", "[ps]") {
  const distrib::RowLayout layout{1, 0};
  const auto block = std::make_shared<const distrib::AlignedBuffer>(64);
  distrib::SaveCut save{{7, block, {}, {3, 4}}};
  for (const float weight : {0.5F, 0.25F}) {
    auto& table = save.tables.emplace_back(layout, distrib::detail::RowPacking{layout, 7, "items"}, false, 0);
    table.add(1, {}, &weight);
  }
  const distrib::Cut cut = std::move(save).finish();
  CHECK(cut.step == 7);
  CHECK(cut.values == block);
  CHECK(cut.applied == std::vector<distrib::Step>{3, 4});
  REQUIRE(cut.tables.size() == 2);
  CHECK(cut.tables[0].rows->as<float>()[0] == 0.5F);
  CHECK(cut.tables[1].rows->as<float>()[0] == 0.25F);
}
