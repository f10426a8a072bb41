// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sharding/detail/rows_in_shards.hpp>
#include <distrib/sharding/row_sharding.hpp>

#include <cassert>
#include <cstdint>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Assigns rows to shards in turn: row r is row r / n of shard r mod n (TensorFlow's "mod" strategy). Neighbouring rows
/// are on different shards, so rows that are often used together are not all on one shard. A value.
///
/// Trap: variables that a `Partitioner` has divided do not have this layout, but that of `RangeSharding`. Looking them
/// up here returns wrong rows without an error.
class ModSharding {
 public:
  /// Makes the sharding. `rows` must not be negative (programmer error otherwise; asserted).
  ///
  /// Errors (without `ec` thrown as `std::system_error`): `sharding_errc::not_positive` if `num_shards` is 0; then the
  /// value is one shard without rows.
  ModSharding(std::int64_t rows, std::uint32_t num_shards, std::error_code& ec) noexcept
      : layout_{rows, num_shards, ec} {}
  ModSharding(std::int64_t rows, std::uint32_t num_shards) : layout_{rows, num_shards, "ModSharding::num_shards"} {}

  /// Returns the number of rows of all shards together.
  [[nodiscard]] auto rows() const noexcept -> std::int64_t { return layout_.rows(); }
  /// Returns the number of shards, at least 1.
  [[nodiscard]] auto num_shards() const noexcept -> std::uint32_t { return layout_.num_shards(); }
  /// Returns the number of rows of one shard, which must be below `num_shards()` (not checked).
  [[nodiscard]] auto rows_of(std::uint32_t shard) const noexcept -> std::int64_t { return layout_.rows_of(shard); }

  /// Returns the shard of a row; a key beyond the last row has one too.
  [[nodiscard]] auto shard(std::uint64_t key) const noexcept -> std::uint32_t {
    return static_cast<std::uint32_t>(key % num_shards());
  }
  /// Returns where a row is. `row` must be from 0 to `rows()` - 1 (programmer error otherwise; asserted).
  [[nodiscard]] auto locate(std::int64_t row) const noexcept -> ShardRow {
    assert(row >= 0 && row < rows());
    return {shard(static_cast<std::uint64_t>(row)), row / num_shards()};
  }
  /// Returns the row for which `locate` returns `place`. There must be such a row (not checked).
  [[nodiscard]] auto row_at(const ShardRow& place) const noexcept -> std::int64_t {
    return place.row * num_shards() + place.shard;
  }

  [[nodiscard]] auto operator==(const ModSharding&) const -> bool = default;

 private:
  detail::RowsInShards layout_;
};

}  // namespace v0
}  // namespace distrib
