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

/// Rows in ranges, one after the other: of R rows in n shards the first R mod n have one row more than the others. This
/// is how `part_slices` cuts axis 0 (TensorFlow's "div" strategy). With fewer rows than shards, where TensorFlow
/// divides by zero, the last shards are empty. A value.
class RangeSharding {
 public:
  /// `rows` is not negative (programmer error otherwise). Fails with `sharding_errc::not_positive` without a shard; the
  /// value is one shard without rows then.
  RangeSharding(std::int64_t rows, std::uint32_t num_shards, std::error_code& ec) noexcept
      : layout_{rows, num_shards, ec} {}
  RangeSharding(std::int64_t rows, std::uint32_t num_shards) : layout_{rows, num_shards, "RangeSharding::num_shards"} {}

  /// Of all shards together.
  [[nodiscard]] auto rows() const noexcept -> std::int64_t { return layout_.rows(); }
  [[nodiscard]] auto num_shards() const noexcept -> std::uint32_t { return layout_.num_shards(); }
  /// How many rows one shard has.
  [[nodiscard]] auto rows_of(std::uint32_t shard) const noexcept -> std::int64_t { return layout_.rows_of(shard); }
  /// The first row of a shard; of `num_shards()`, how many rows there are.
  [[nodiscard]] auto first_row(std::uint32_t shard) const noexcept -> std::int64_t {
    return layout_.even() * shard + std::min<std::int64_t>(shard, layout_.longer());
  }

  /// The shard of a row. A key beyond the last row counts to the last shard, so that every key has one.
  [[nodiscard]] auto shard(std::uint64_t key) const noexcept -> std::uint32_t {
    const std::uint64_t last = num_shards() - 1;
    const auto even = static_cast<std::uint64_t>(layout_.even());
    const auto longer = static_cast<std::uint64_t>(layout_.longer());
    if (key < longer * (even + 1)) return static_cast<std::uint32_t>(key / (even + 1));
    return static_cast<std::uint32_t>(even == 0 ? last : std::min(last, (key - longer) / even));
  }
  /// Where a row lies; 0 <= row < `rows()` (programmer error otherwise).
  [[nodiscard]] auto locate(std::int64_t row) const noexcept -> ShardRow {
    assert(row >= 0 && row < rows());
    const std::uint32_t of = shard(static_cast<std::uint64_t>(row));
    return {of, row - first_row(of)};
  }
  /// The opposite of `locate`.
  [[nodiscard]] auto row_at(const ShardRow& place) const noexcept -> std::int64_t {
    return first_row(place.shard) + place.row;
  }

  [[nodiscard]] auto operator==(const RangeSharding&) const -> bool = default;

 private:
  detail::RowsInShards layout_;
};

}  // namespace v0
}  // namespace distrib
