// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/group_by_shard.hpp>

#include <distrib/sharding/mod_sharding.hpp>

#include "support/catch.hpp"

#include <vector>

using distrib::group_by_shard;
using distrib::ModSharding;
using Keys = std::vector<std::uint64_t>;
using Positions = std::vector<std::size_t>;

TEST_CASE("group_by_shard: positions of the keys, shard by shard, in order", "[sharding]") {
  const Keys keys{12, 5, 9, 0, 5, 7, 10};
  const auto groups = group_by_shard(ModSharding{13, 5}, keys);
  CHECK(groups.positions == Positions{1, 3, 4, 6, 0, 5, 2});
  CHECK(groups.first == Positions{0, 4, 4, 6, 6, 7});
  for (std::uint32_t shard = 0; shard < 5; ++shard)
    for (const std::size_t position : groups.of(shard)) CHECK(keys[position] % 5 == shard);
  CHECK(groups.of(1).empty());
  CHECK(groups.of(2).size() == 2);
}

TEST_CASE("group_by_shard: no keys", "[sharding]") {
  const auto groups = group_by_shard(ModSharding{13, 2}, {});
  CHECK(groups.positions.empty());
  CHECK(groups.first == Positions{0, 0, 0});
}
