// error: a KeySharding needs shard\(std::uint64_t key\) const
// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/group_by_shard.hpp>

struct ByParity {
  auto num_shards() const -> std::uint32_t { return 2; }
#ifndef DISTRIB_COMPILE_FAIL
  auto shard(std::uint64_t key) const -> std::uint32_t { return key % 2 == 0 ? 0 : 1; }
#endif
};

auto groups = distrib::group_by_shard(ByParity{}, {});
