// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sharding/key_sharding.hpp>

#include <cassert>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Keys grouped by their shard. A value.
struct ShardGroups {
  /// Positions of the keys: first the keys of shard 0, then the keys of shard 1, and so on, each group in the order of
  /// the keys.
  std::vector<std::size_t> positions{};
  /// Where each shard's group begins in `positions`; one further entry is the number of keys.
  std::vector<std::size_t> first{};

  /// Returns the positions of the keys of one shard, ascending.
  [[nodiscard]] auto of(std::uint32_t shard) const noexcept -> std::span<const std::size_t> {
    return std::span{positions}.subspan(first[shard], first[shard + 1] - first[shard]);
  }
};

/// Groups keys by shard, to make one request for each shard: `keys[groups.of(shard)[i]]` is the i-th key of the
/// request, and the i-th value of the answer belongs to that position.
template <KeySharding S>
[[nodiscard]] auto group_by_shard(const S& sharding, std::span<const std::uint64_t> keys) -> ShardGroups {
  std::vector<std::uint32_t> shards(keys.size());
  shards_of(sharding, keys, std::span{shards});
  ShardGroups groups;
  groups.first.resize(std::size_t{sharding.num_shards()} + 1);
  for (const std::uint32_t shard : shards) {
    assert(shard < sharding.num_shards());
    ++groups.first[std::size_t{shard} + 1];
  }
  for (std::size_t shard = 1; shard < groups.first.size(); ++shard) groups.first[shard] += groups.first[shard - 1];
  groups.positions.resize(keys.size());
  std::vector<std::size_t> next = groups.first;
  for (std::size_t i = 0; i < keys.size(); ++i) groups.positions[next[shards[i]]++] = i;
  return groups;
}

// The twin with the same parameter list, which reports what is missing. The constrained one is chosen if its concept
// holds.
template <class S> auto group_by_shard(const S&, std::span<const std::uint64_t>) -> ShardGroups {
  detail::explain_key_sharding<S>();
  return {};
}

}  // namespace v0
}  // namespace distrib
