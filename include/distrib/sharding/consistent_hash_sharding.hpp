// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include <algorithm>
#include <array>
#include <cstdint>
#include <span>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Assigns keys to tasks by their hash. The 1024 virtual shards are divided among the tasks in proportion to their
/// weights, as evenly as possible (Webster's method, which also divides seats in parliaments). A task that is added at
/// the end takes its share from the others, and no other virtual shard moves. If that task is removed again, its
/// virtual shards return to the tasks that had them. A value.
///
/// Uses only integers, so the result is the same on every machine.
class ConsistentHashSharding {
 public:
  /// Divides the virtual shards; `weights` has one weight per task, each at least 1.
  ///
  /// Errors: `sharding_errc::not_positive` if there is no task or a weight is 0, `too_many_shards` if there are more
  /// than 1024 tasks. Then all keys belong to task 0.
  DISTRIB_DECL ConsistentHashSharding(std::span<const std::uint32_t> weights, std::error_code& ec);
  explicit ConsistentHashSharding(std::span<const std::uint32_t> weights) {
    std::error_code ec;
    *this = ConsistentHashSharding{weights, ec};
    if (ec) throw_error(ec, "ConsistentHashSharding");
  }
  /// Divides the virtual shards among `num_shards` tasks with equal weights. Throws the errors above.
  explicit ConsistentHashSharding(std::uint32_t num_shards)
      : ConsistentHashSharding{std::vector<std::uint32_t>(std::min(num_shards, num_virtual_shards + 1), 1)} {}

  [[nodiscard]] auto num_shards() const noexcept -> std::uint32_t { return num_shards_; }
  /// Returns the task of a key.
  [[nodiscard]] auto shard(std::uint64_t key) const noexcept -> std::uint32_t { return owners_[virtual_shard(key)]; }
  /// Returns the task of each virtual shard.
  [[nodiscard]] auto owners() const noexcept -> std::span<const std::uint16_t, num_virtual_shards> { return owners_; }

  [[nodiscard]] auto operator==(const ConsistentHashSharding&) const -> bool = default;

 private:
  DISTRIB_DECL void deal(std::span<const std::uint32_t> weights);

  std::uint32_t num_shards_ = 1;
  std::array<std::uint16_t, num_virtual_shards> owners_{};
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sharding/impl/consistent_hash_sharding.ipp>
#endif
