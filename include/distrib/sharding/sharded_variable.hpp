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

/// A variable that lies in shards cut along axis 0, seen as one: TensorFlow's ShardedVariable without the values. It
/// tells in which shard a row is, and which rows of each shard make up a slice of the whole. A value.
class ShardedVariable {
 public:
  /// Rows start, start + step, .. before stop, in Python's words: what is not given is the end that the step comes from
  /// or goes to, and a negative number counts from the end. `{.start = -3}` is the last three rows, `{.step = -1}` all of
  /// them backwards.
  struct RowRange {
    std::optional<std::int64_t> start{};
    std::optional<std::int64_t> stop{};
    std::int64_t step = 1;  ///< Not 0.
  };

  /// Rows start, start + step, .. of one shard, by its own numbers, as far as they lie before stop. At least one.
  struct ShardRange {
    std::uint32_t shard = 0;
    std::int64_t start = 0;
    std::int64_t stop = 0;  ///< -1 when the step is negative and goes down to row 0.
    std::int64_t step = 1;

    /// How many rows it has; the last of them is start + (count() - 1) * step.
    [[nodiscard]] auto count() const noexcept -> std::int64_t {
      const std::int64_t reach = step > 0 ? stop - start : start - stop;
      const std::uint64_t width = step > 0 ? static_cast<std::uint64_t>(step) : 0 - static_cast<std::uint64_t>(step);
      return static_cast<std::int64_t>((static_cast<std::uint64_t>(reach) - 1) / width + 1);
    }

    [[nodiscard]] auto operator==(const ShardRange&) const -> bool = default;
  };

  /// The shards in order; their names and initial values are not looked at. Fails with `sharding_errc::not_positive`
  /// when there are none, `no_such_axis` for scalars, `unlike_shards` when they differ in more than rows, `too_large`;
  /// the value has no rows then.
  ShardedVariable(std::span<const VariableInfo> shards, std::error_code& ec) { add(shards, ec); }
  DISTRIB_DECL explicit ShardedVariable(std::span<const VariableInfo> shards);

  /// The shards that `partition` cuts a variable into. Fails with `sharding_errc::not_axis_0` when it cuts another
  /// axis, `not_positive`, `no_such_axis` for a scalar, `too_many_parts`; the value has no rows then.
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

  [[nodiscard]] auto dtype() const noexcept -> DType { return dtype_; }
  /// Of the whole.
  [[nodiscard]] auto shape() const noexcept -> const Shape& { return shape_; }
  [[nodiscard]] auto rows() const noexcept -> std::int64_t { return offsets_.back(); }
  [[nodiscard]] auto num_shards() const noexcept -> std::uint32_t {
    return static_cast<std::uint32_t>(offsets_.size() - 1);
  }
  /// The first row of each shard and, after them, the number of rows.
  [[nodiscard]] auto offsets() const noexcept -> std::span<const std::int64_t> { return offsets_; }

  /// Where a row lies; -1 is the last one. Fails with `sharding_errc::no_such_row`.
  [[nodiscard]] auto locate(std::int64_t index, std::error_code& ec) const noexcept -> ShardRow {
    ec.clear();
    const std::int64_t row = index < 0 ? index + rows() : index;
    if (row < 0 || row >= rows()) {
      ec = sharding_errc::no_such_row;
      return {};
    }
    // The last shard that begins at or before the row: those before it that begin there too are empty.
    const auto next = std::upper_bound(offsets_.begin(), offsets_.end(), row);
    return {static_cast<std::uint32_t>(next - offsets_.begin() - 1), row - *(next - 1)};
  }
  [[nodiscard]] auto locate(std::int64_t index) const -> ShardRow {
    std::error_code ec;
    const ShardRow place = locate(index, ec);
    if (ec) throw_error(ec, "row " + std::to_string(index) + " of " + to_string(shape_));
    return place;
  }

  /// The rows of each shard that make up `range`, in the order in which the range meets them; shards without any are
  /// left out. Ends outside of the variable are no error. As in TensorFlow's, and not in Python's lists, the step
  /// counts from a start outside: of ten rows, those from -12 with step 5 are 3 and 8. Fails with
  /// `sharding_errc::zero_step`.
  [[nodiscard]] DISTRIB_DECL auto slice(const RowRange& range, std::error_code& ec) const -> std::vector<ShardRange>;
  [[nodiscard]] DISTRIB_DECL auto slice(const RowRange& range) const -> std::vector<ShardRange>;

  /// The sharding of its rows, by which scatter operations and sparse reads find many of them at once (`locate_rows`,
  /// `group_by_shard`). Only for the layout that `part_slices` makes; fails with `sharding_errc::not_div_layout`.
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

  // The distance from `from` up to `to`, from <= to, which a signed number might not hold.
  [[nodiscard]] static auto distance(std::int64_t from, std::int64_t to) noexcept -> std::uint64_t {
    return static_cast<std::uint64_t>(to) - static_cast<std::uint64_t>(from);
  }
  // How far the first multiple of `step` at or beyond `distance` goes beyond it.
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
