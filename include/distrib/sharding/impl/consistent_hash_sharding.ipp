// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sharding/consistent_hash_sharding.hpp>

#include <distrib/sharding/error.hpp>

#include <cstddef>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL ConsistentHashSharding::ConsistentHashSharding(std::span<const std::uint32_t> weights,
                                                            std::error_code& ec) {
  ec.clear();
  if (weights.empty() || std::find(weights.begin(), weights.end(), 0U) != weights.end())
    ec = sharding_errc::not_positive;
  else if (weights.size() > num_virtual_shards) ec = sharding_errc::too_many_shards;
  if (ec) return;
  num_shards_ = static_cast<std::uint32_t>(weights.size());
  deal(weights);
}

// Task 0 starts with all virtual shards. Each further task takes them one at a time from the task that is fullest for
// its weight, and stops when one more would make it at least as full.
DISTRIB_DECL void ConsistentHashSharding::deal(std::span<const std::uint32_t> weights) {
  std::vector<std::int64_t> counts(weights.size());
  counts[0] = num_virtual_shards;
  std::vector<std::size_t> ends(weights.size(), num_virtual_shards);  // every virtual shard of a task is before its end
  // Compares (count - 1/2) / weight without fractions. The products are at most 2^11 * 2^32.
  const auto fuller = [&](std::size_t a, std::int64_t count_a, std::size_t b, std::int64_t count_b) {
    return (2 * count_a - 1) * weights[b] > (2 * count_b - 1) * weights[a];
  };
  for (std::size_t task = 1; task < weights.size(); ++task) {
    for (;;) {
      std::size_t fullest = 0;
      for (std::size_t other = 1; other < task; ++other)
        if (fuller(other, counts[other], fullest, counts[fullest])) fullest = other;
      if (!fuller(fullest, counts[fullest], task, counts[task] + 1)) break;
      std::size_t& last = ends[fullest];
      while (owners_[--last] != fullest) {
      }
      owners_[last] = static_cast<std::uint16_t>(task);
      --counts[fullest];
      ++counts[task];
    }
  }
}

}  // namespace v0
}  // namespace distrib
