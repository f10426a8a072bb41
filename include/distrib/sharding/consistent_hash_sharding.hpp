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

/// Keys to tasks by their hash: the 1024 virtual shards are dealt to the tasks in proportion to their weights, so
/// evenly that no task could pass one on and have it better there (Webster's method of dealing out seats). A task added at the end
/// takes its share from the others and nothing else moves; taken away again, it gives the same back. A value.
///
/// Integers decide alone, so every machine deals alike.
class ConsistentHashSharding {
 public:
  /// Fails with `sharding_errc::not_positive` without a task or for a weight of 0, with `too_many_shards` for more
  /// tasks than virtual shards; all keys belong to task 0 then.
  DISTRIB_DECL ConsistentHashSharding(std::span<const std::uint32_t> weights, std::error_code& ec);
  explicit ConsistentHashSharding(std::span<const std::uint32_t> weights) {
    std::error_code ec;
    *this = ConsistentHashSharding{weights, ec};
    if (ec) throw_error(ec, "ConsistentHashSharding");
  }
  /// Tasks of the same weight.
  explicit ConsistentHashSharding(std::uint32_t num_shards)
      : ConsistentHashSharding{std::vector<std::uint32_t>(std::min(num_shards, num_virtual_shards + 1), 1)} {}

  [[nodiscard]] auto num_shards() const noexcept -> std::uint32_t { return num_shards_; }
  /// The task of a key.
  [[nodiscard]] auto shard(std::uint64_t key) const noexcept -> std::uint32_t { return owners_[virtual_shard(key)]; }
  /// The task of each virtual shard.
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
