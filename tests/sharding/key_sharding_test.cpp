// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/key_sharding.hpp>

#include "support/catch.hpp"

#include <vector>

namespace {
/// Odd keys on their own shard: a user's sharding.
struct ByParity {
  auto num_shards() const -> std::uint32_t { return 2; }
  auto shard(std::uint64_t key) const -> std::uint32_t { return key % 2 == 0 ? 0 : 1; }
};
}  // namespace

TEST_CASE("shards_of: the shard of each key", "[sharding]") {
  static_assert(distrib::KeySharding<ByParity>);
  const std::vector<std::uint64_t> keys{7, 2, ~std::uint64_t{0}, 2};
  std::vector<std::uint32_t> shards(keys.size(), 9);
  distrib::shards_of(ByParity{}, keys, shards);
  CHECK(shards == std::vector<std::uint32_t>{1, 0, 1, 0});
  distrib::shards_of(ByParity{}, {}, {});
}
