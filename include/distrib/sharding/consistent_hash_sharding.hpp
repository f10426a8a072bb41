// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sharding/error.hpp>
#include <distrib/sharding/key_sharding.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include <algorithm>
#include <array>
#include <cstddef>
#include <cstdint>
#include <span>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Keys to tasks by their hash: the 1024 virtual shards are dealt to the tasks in proportion to their weights, so
/// evenly that no task could pass one on and have it better there (Webster's method of dealing out seats). A task added at the end
/// takes its share from the others and nothing else moves; taken away again, it gives the same back. A value.
///
/// Integers decide alone, so every machine deals alike.
class ConsistentHashSharding {
 public:
  /// Fails with `sharding_errc::not_positive` without a task or for a weight of 0, with `too_many_shards` for more
  /// tasks than virtual shards; all keys belong to task 0 then.
  template <class = void> ConsistentHashSharding(std::span<const std::uint32_t> weights, std::error_code& ec) {
    ec.clear();
    if (weights.empty() || std::find(weights.begin(), weights.end(), 0U) != weights.end())
      ec = sharding_errc::not_positive;
    else if (weights.size() > num_virtual_shards) ec = sharding_errc::too_many_shards;
    if (ec) return;
    num_shards_ = static_cast<std::uint32_t>(weights.size());
    deal(weights);
  }
  template <class = void> explicit ConsistentHashSharding(std::span<const std::uint32_t> weights) {
    std::error_code ec;
    *this = ConsistentHashSharding{weights, ec};
    if (ec) throw_error(ec, "ConsistentHashSharding");
  }
  /// Tasks of the same weight.
  template <class = void>
  explicit ConsistentHashSharding(std::uint32_t num_shards)
      : ConsistentHashSharding{std::vector<std::uint32_t>(std::min(num_shards, num_virtual_shards + 1), 1)} {}

  [[nodiscard]] auto num_shards() const noexcept -> std::uint32_t { return num_shards_; }
  /// The task of a key.
  [[nodiscard]] auto shard(std::uint64_t key) const noexcept -> std::uint32_t { return owners_[virtual_shard(key)]; }
  /// The task of each virtual shard.
  [[nodiscard]] auto owners() const noexcept -> std::span<const std::uint16_t, num_virtual_shards> { return owners_; }

  [[nodiscard]] auto operator==(const ConsistentHashSharding&) const -> bool = default;

 private:
  // Task after task takes virtual shards from the one that is fullest for its weight, until it would be fuller itself.
  void deal(std::span<const std::uint32_t> weights) {
    std::vector<std::int64_t> counts(weights.size());
    counts[0] = num_virtual_shards;
    std::vector<std::size_t> ends(weights.size(), num_virtual_shards);  // all that a task has are before its end
    // Compares (count - 1/2) / weight, without a fraction; at most 2^11 * 2^32.
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

  std::uint32_t num_shards_ = 1;
  std::array<std::uint16_t, num_virtual_shards> owners_{};
};

}  // namespace v0
}  // namespace distrib
