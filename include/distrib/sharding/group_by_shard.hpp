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

/// Which of some keys go to which shard. A value.
struct ShardGroups {
  std::vector<std::size_t> positions{};  ///< Of the keys: those of shard 0, of shard 1, ..; each in the keys' order.
  std::vector<std::size_t> first{};      ///< Where in `positions` each shard begins; one more: their number.

  /// Positions of the keys of one shard, ascending.
  [[nodiscard]] auto of(std::uint32_t shard) const noexcept -> std::span<const std::size_t> {
    return std::span{positions}.subspan(first[shard], first[shard + 1] - first[shard]);
  }
};

/// Sorts keys by shard, as a request to each shard needs them: `keys[groups.of(shard)[i]]` is the i-th that it is asked
/// for, and its i-th answer belongs at that position of the whole.
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

// The twin: same parameter list, so that the constrained one wins whenever its concept holds.
template <class S> auto group_by_shard(const S&, std::span<const std::uint64_t>) -> ShardGroups {
  detail::explain_key_sharding<S>();
  return {};
}

}  // namespace v0
}  // namespace distrib
