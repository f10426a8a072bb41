// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sharding/detail/rows_in_shards.hpp>
#include <distrib/sharding/row_sharding.hpp>

#include <algorithm>
#include <cassert>
#include <cstdint>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Assigns consecutive ranges of rows to shards. If R rows are divided among n shards, the first R mod n shards have
/// one row more than the others. `part_slices` divides axis 0 in this way (TensorFlow's "div" strategy). If there are
/// fewer rows than shards, the last shards are empty (TensorFlow divides by zero there). A value.
class RangeSharding {
 public:
  /// Makes the sharding. `rows` must not be negative (programmer error otherwise; asserted).
  ///
  /// Errors (without `ec` thrown as `std::system_error`): `sharding_errc::not_positive` if `num_shards` is 0; then the
  /// value is one shard without rows.
  RangeSharding(std::int64_t rows, std::uint32_t num_shards, std::error_code& ec) noexcept
      : layout_{rows, num_shards, ec} {}
  RangeSharding(std::int64_t rows, std::uint32_t num_shards) : layout_{rows, num_shards, "RangeSharding::num_shards"} {}

  /// Returns the number of rows of all shards together.
  [[nodiscard]] auto rows() const noexcept -> std::int64_t { return layout_.rows(); }
  /// Returns the number of shards, at least 1.
  [[nodiscard]] auto num_shards() const noexcept -> std::uint32_t { return layout_.num_shards(); }
  /// Returns the number of rows of one shard, which must be below `num_shards()` (not checked).
  [[nodiscard]] auto rows_of(std::uint32_t shard) const noexcept -> std::int64_t { return layout_.rows_of(shard); }
  /// Returns the first row of a shard; for `num_shards()`, the number of rows. A larger number is not allowed (not
  /// checked).
  [[nodiscard]] auto first_row(std::uint32_t shard) const noexcept -> std::int64_t {
    return layout_.even() * shard + std::min<std::int64_t>(shard, layout_.longer());
  }

  /// Returns the shard of a row. A key beyond the last row belongs to the last shard, so that every key has one.
  [[nodiscard]] auto shard(std::uint64_t key) const noexcept -> std::uint32_t {
    const std::uint64_t last = num_shards() - 1;
    const auto even = static_cast<std::uint64_t>(layout_.even());
    const auto longer = static_cast<std::uint64_t>(layout_.longer());
    if (key < longer * (even + 1)) return static_cast<std::uint32_t>(key / (even + 1));
    return static_cast<std::uint32_t>(even == 0 ? last : std::min(last, (key - longer) / even));
  }
  /// Returns where a row is. `row` must be from 0 to `rows()` - 1 (programmer error otherwise; asserted).
  [[nodiscard]] auto locate(std::int64_t row) const noexcept -> ShardRow {
    assert(row >= 0 && row < rows());
    const std::uint32_t of = shard(static_cast<std::uint64_t>(row));
    return {of, row - first_row(of)};
  }
  /// Returns the row for which `locate` returns `place`. There must be such a row (not checked).
  [[nodiscard]] auto row_at(const ShardRow& place) const noexcept -> std::int64_t {
    return first_row(place.shard) + place.row;
  }

  [[nodiscard]] auto operator==(const RangeSharding&) const -> bool = default;

 private:
  detail::RowsInShards layout_;
};

}  // namespace v0
}  // namespace distrib
