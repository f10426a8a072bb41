// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/dtype.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/sharding/error.hpp>
#include <distrib/sharding/partitioner.hpp>
#include <distrib/sharding/range_sharding.hpp>
#include <distrib/sharding/row_sharding.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A variable that is stored in shards divided along axis 0, seen as a whole: TensorFlow's ShardedVariable without the
/// values. It says in which shard a row is, and which rows of each shard make up a slice of the whole. A value.
///
/// Errors: a function sets `ec`; the overload without `ec` throws `std::system_error`.
class ShardedVariable {
 public:
  /// The rows start, start + step, ... before stop, as in a Python slice. Defaults: the ends of the variable, exchanged
  /// if the step is negative. A negative number counts from the end. `{.start = -3}` is the last three rows,
  /// `{.step = -1}` all rows backwards.
  struct RowRange {
    std::optional<std::int64_t> start{};  ///< The first row. Empty: row 0, or the last row.
    std::optional<std::int64_t> stop{};  ///< The row before which the range ends. Empty: it has no such row.
    std::int64_t step = 1;  ///< Must not be 0.
  };

  /// The rows start, start + step, ... before stop of one shard, by the shard's own numbers. At least one row.
  struct ShardRange {
    std::uint32_t shard = 0;  ///< Number of the shard, from 0.
    std::int64_t start = 0;  ///< The first row.
    std::int64_t stop = 0;  ///< -1 if the step is negative and the range may go down to the shard's row 0.
    std::int64_t step = 1;  ///< Not 0.

    /// Returns the number of rows; the last one is start + (count() - 1) * step.
    [[nodiscard]] auto count() const noexcept -> std::int64_t {
      const std::int64_t reach = step > 0 ? stop - start : start - stop;
      const std::uint64_t width = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
      return static_cast<std::int64_t>((static_cast<std::uint64_t>(reach) - 1) / width + 1);
    }

    [[nodiscard]] auto operator==(const ShardRange&) const -> bool = default;
  };

  /// Makes the variable from its shards, in order. Their names and initial values are ignored.
  ///
  /// Errors: `sharding_errc::not_positive` if there are none, `no_such_axis` for scalars, `unlike_shards` if they
  /// differ in more than the number of rows, `too_large`. Then the value has no rows.
  ShardedVariable(std::span<const VariableInfo> shards, std::error_code& ec) { add(shards, ec); }
  DISTRIB_DECL explicit ShardedVariable(std::span<const VariableInfo> shards);

  /// Makes the variable from the shards into which `partition` divides it.
  ///
  /// Errors: `sharding_errc::not_axis_0` if `partition` divides another axis, `not_positive`, `no_such_axis` for a
  /// scalar, `too_many_parts`. Then the value has no rows.
  ShardedVariable(const Shape& shape, DType dtype, Partition partition, std::error_code& ec) {
    cut(shape, dtype, partition, ec);
  }
  ShardedVariable(const Shape& shape, DType dtype, Partition partition) {
    std::error_code ec;
    cut(shape, dtype, partition, ec);
    if (ec)
      throw_error(ec, std::to_string(partition.parts) + " shards along axis " + std::to_string(partition.axis) +
                          " of " + to_string(shape));
  }

  /// Returns the element type.
  [[nodiscard]] auto dtype() const noexcept -> DType { return dtype_; }
  /// Returns the shape of the whole.
  [[nodiscard]] auto shape() const noexcept -> const Shape& { return shape_; }
  /// Returns the number of rows of all shards together; 0 if the constructor failed.
  [[nodiscard]] auto rows() const noexcept -> std::int64_t { return offsets_.back(); }
  /// Returns the number of shards; 0 if the constructor failed.
  [[nodiscard]] auto num_shards() const noexcept -> std::uint32_t {
    return static_cast<std::uint32_t>(offsets_.size() - 1);
  }
  /// Returns the first row of each shard and, as the last entry, the number of rows.
  [[nodiscard]] auto offsets() const noexcept -> std::span<const std::int64_t> { return offsets_; }

  /// Returns where a row is. A negative index counts from the end: -1 is the last row.
  ///
  /// Errors: `sharding_errc::no_such_row` if `index` is not from -`rows()` to `rows()` - 1.
  [[nodiscard]] auto locate(std::int64_t index, std::error_code& ec) const noexcept -> ShardRow {
    ec.clear();
    const std::int64_t row = index < 0 ? index + rows() : index;
    if (row < 0 || row >= rows()) {
      ec = sharding_errc::no_such_row;
      return {};
    }
    // The last shard that begins at or before the row. Earlier shards that begin at the same row are empty.
    const auto next = std::upper_bound(offsets_.begin(), offsets_.end(), row);
    return {static_cast<std::uint32_t>(next - offsets_.begin() - 1), row - *(next - 1)};
  }
  [[nodiscard]] auto locate(std::int64_t index) const -> ShardRow {
    std::error_code ec;
    const ShardRow place = locate(index, ec);
    if (ec) throw_error(ec, "row " + std::to_string(index) + " of " + to_string(shape_));
    return place;
  }

  /// Returns the rows of each shard that make up `range`, in the order of the range; shards without rows of the range
  /// are omitted. A start or stop outside of the variable is no error. As in TensorFlow, and unlike Python's lists,
  /// steps are counted from a start that is outside: of ten rows, the range from -12 with step 5 has rows 3 and 8.
  ///
  /// Errors: `sharding_errc::zero_step` if the step is 0; the result is then empty.
  [[nodiscard]] DISTRIB_DECL auto slice(const RowRange& range, std::error_code& ec) const -> std::vector<ShardRange>;
  [[nodiscard]] DISTRIB_DECL auto slice(const RowRange& range) const -> std::vector<ShardRange>;

  /// Returns the sharding of its rows, with which scatter operations and sparse reads find many rows at once
  /// (`locate_rows`, `group_by_shard`). Only for the layout that `part_slices` makes.
  ///
  /// Errors: `sharding_errc::not_div_layout`; `not_positive` if there are no shards, because the constructor failed.
  [[nodiscard]] auto sharding(std::error_code& ec) const noexcept -> RangeSharding {
    const RangeSharding div{rows(), num_shards(), ec};
    for (std::uint32_t shard = 0; !ec && shard < num_shards(); ++shard)
      if (div.first_row(shard) != offsets_[shard]) ec = sharding_errc::not_div_layout;
    return div;
  }
  [[nodiscard]] DISTRIB_DECL auto sharding() const -> RangeSharding;

  [[nodiscard]] auto operator==(const ShardedVariable&) const -> bool = default;

 private:
  DISTRIB_DECL void add(std::span<const VariableInfo> shards, std::error_code& ec);

  DISTRIB_DECL void cut(const Shape& shape, DType dtype, Partition partition, std::error_code& ec);

  // Returns `to` - `from`, for from <= to; a signed number might not hold it.
  [[nodiscard]] static auto distance(std::int64_t from, std::int64_t to) noexcept -> std::uint64_t {
    return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
  }
  // Returns how far the first multiple of `step` that is at least `distance` is beyond `distance`.
  [[nodiscard]] static auto beyond(std::uint64_t distance, std::uint64_t step) noexcept -> std::uint64_t {
    return distance % step == 0 ? 0 : step - distance % step;
  }
  [[nodiscard]] auto from_end(std::int64_t index) const noexcept -> std::int64_t {
    return index < 0 ? index + rows() : index;
  }

  [[nodiscard]] DISTRIB_DECL auto forwards(const RowRange& range) const -> std::vector<ShardRange>;

  [[nodiscard]] DISTRIB_DECL auto backwards(const RowRange& range) const -> std::vector<ShardRange>;

  DType dtype_ = DType::float32;
  Shape shape_{0};
  std::vector<std::int64_t> offsets_{0};
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sharding/impl/sharded_variable.ipp>
#endif
