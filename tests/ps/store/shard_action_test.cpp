// SPDX-License-Identifier: Apache-2.0
#include <distrib/ps/store/shard_action.hpp>

#include "support/catch.hpp"

#include <type_traits>
#include <utility>

TEST_CASE("Cut: shares what it holds and is moved without a copy", "[ps]") {
  STATIC_REQUIRE(std::is_nothrow_move_constructible_v<distrib::SaveCut>);
  const auto block = std::make_shared<const distrib::AlignedBuffer>(64);
  distrib::SaveCut save{{7, block, {}, {3, 4}}};
  CHECK(block.use_count() == 2);
  const distrib::Cut cut = std::move(save.cut);
  CHECK(block.use_count() == 2);
  CHECK(cut.values == block);
  CHECK(cut.applied == std::vector<distrib::Step>{3, 4});
}
