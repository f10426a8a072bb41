// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/table_info.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/sharding/consistent_hash_sharding.hpp>
#include <distrib/sharding/range_sharding.hpp>
#include <distrib/sharding/virtual_shard.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Says which shard has the row of a key. Numbered keys are divided into ranges (`RangeSharding`). If any 64 bits are a
/// key, the virtual shards are divided among the shards (`ConsistentHashSharding`). A value.
class TableSharding {
 public:
  DISTRIB_DECL TableSharding(const TableInfo& table, std::uint32_t shards);

  /// Returns the shard of a key. A key beyond the last numbered key belongs to the last shard.
  [[nodiscard]] auto shard(std::uint64_t key) const noexcept -> std::uint32_t {
    return owners_.empty() ? ranges_.shard(key) : owners_[virtual_shard(key)];
  }

  /// Returns the first of a shard's numbered keys. 0 if any 64 bits are a key.
  [[nodiscard]] auto first(std::uint32_t shard) const noexcept -> std::uint64_t {
    return static_cast<std::uint64_t>(ranges_.first_row(shard));
  }
  /// Returns how many numbered keys a shard has. 0 if any 64 bits are a key.
  [[nodiscard]] auto rows_of(std::uint32_t shard) const noexcept -> std::uint64_t {
    return static_cast<std::uint64_t>(ranges_.rows_of(shard));
  }
  /// Returns the shard that has a virtual shard. Only if any 64 bits are a key.
  [[nodiscard]] auto owner_of(std::uint32_t virtual_shard_number) const noexcept -> std::uint32_t {
    return owners_[virtual_shard_number];
  }
  /// Returns how many virtual shards a shard has. 0 if the keys are numbered.
  [[nodiscard]] auto virtual_shards_of(std::uint32_t shard) const noexcept -> std::uint64_t {
    return static_cast<std::uint64_t>(std::ranges::count(owners_, shard));
  }

 private:
  RangeSharding ranges_;
  std::vector<std::uint16_t> owners_;  // owner of each virtual shard; empty: ranges
};

/// One shard's share of a table. A value.
class TableShare {
 public:
  TableShare(const Job& job, std::size_t table, std::uint32_t shard)
      : info_{job.tables[table]}, updater_{job.updater_of(info_.name)}, shard_{shard}, sharding_{info_, job.shards()} {}

  [[nodiscard]] auto info() const noexcept -> const TableInfo& { return info_; }
  /// Number of the table's updater, see `Job::updater_of`.
  [[nodiscard]] auto updater() const noexcept -> std::size_t { return updater_; }
  /// Returns the first of this shard's numbered keys. 0 if any 64 bits are a key.
  [[nodiscard]] auto first() const noexcept -> std::uint64_t { return sharding_.first(shard_); }
  /// Returns how many numbered keys this shard has. 0 if any 64 bits are a key.
  [[nodiscard]] auto rows() const noexcept -> std::uint64_t { return sharding_.rows_of(shard_); }

  /// Returns how many virtual shards this shard has. 0 if the keys are numbered.
  [[nodiscard]] auto virtual_shards() const noexcept -> std::uint64_t { return sharding_.virtual_shards_of(shard_); }

  /// True if the shard has this virtual shard. Only if any 64 bits are a key.
  [[nodiscard]] auto has_virtual_shard(std::uint32_t number) const noexcept -> bool {
    return sharding_.owner_of(number) == shard_;
  }

  /// True if the table has this key, and its row lies on this shard.
  [[nodiscard]] auto owns(std::uint64_t key) const noexcept -> bool {
    return info_.any_key() ? sharding_.shard(key) == shard_ : key - first() < rows();
  }
  /// True if the shard owns all of `keys`, which must ascend.
  [[nodiscard]] auto owns_all(std::span<const std::uint64_t> keys) const noexcept -> bool {
    if (!info_.any_key()) return keys.empty() || (owns(keys.front()) && owns(keys.back()));
    return std::ranges::all_of(keys, [this](std::uint64_t key) { return owns(key); });
  }

 private:
  TableInfo info_;
  std::size_t updater_;
  std::uint32_t shard_;
  TableSharding sharding_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/table_share.ipp>
#endif
