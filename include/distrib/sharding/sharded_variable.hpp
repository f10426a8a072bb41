// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/dtype.hpp>
#include <distrib/core/shape.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/sharding/error.hpp>
#include <distrib/sharding/partitioner.hpp>
#include <distrib/sharding/range_sharding.hpp>
#include <distrib/sharding/row_sharding.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

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

/// A variable that lies in shards cut along axis 0, seen as one: TensorFlow's ShardedVariable without the values. It
/// tells in which shard a row is, and which rows of each shard make up a slice of the whole. A value.
class ShardedVariable {
 public:
  /// The shards in order; their names and initial values are not looked at. Fails with `sharding_errc::not_positive`
  /// when there are none, `no_such_axis` for scalars, `unlike_shards` when they differ in more than rows, `too_large`;
  /// the value has no rows then.
  template <class = void>
  ShardedVariable(std::span<const VariableInfo> shards, std::error_code& ec) {
    add(shards, ec);
  }
  template <class = void> explicit ShardedVariable(std::span<const VariableInfo> shards) {
    std::error_code ec;
    add(shards, ec);
    if (!ec) return;
    std::string where = "ShardedVariable of";
    for (const VariableInfo& shard : shards) where += " " + std::string{name(shard.dtype)} + to_string(shard.shape);
    throw_error(ec, where);
  }

  /// The shards that `partition` cuts a variable into. Fails with `sharding_errc::not_axis_0` when it cuts another
  /// axis, `not_positive`, `no_such_axis` for a scalar, `too_many_parts`; the value has no rows then.
  template <class = void> ShardedVariable(const Shape& shape, DType dtype, Partition partition, std::error_code& ec) {
    cut(shape, dtype, partition, ec);
  }
  template <class = void> ShardedVariable(const Shape& shape, DType dtype, Partition partition) {
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
  template <class = void> [[nodiscard]] auto locate(std::int64_t index) const -> ShardRow {
    std::error_code ec;
    const ShardRow place = locate(index, ec);
    if (ec) throw_error(ec, "row " + std::to_string(index) + " of " + to_string(shape_));
    return place;
  }

  /// The rows of each shard that make up `range`, in the order in which the range meets them; shards without any are
  /// left out. Ends outside of the variable are no error. As in TensorFlow's, and not in Python's lists, the step
  /// counts from a start outside: of ten rows, those from -12 with step 5 are 3 and 8. Fails with
  /// `sharding_errc::zero_step`.
  [[nodiscard]] auto slice(const RowRange& range, std::error_code& ec) const -> std::vector<ShardRange> {
    ec.clear();
    if (range.step == 0) {
      ec = sharding_errc::zero_step;
      return {};
    }
    return range.step > 0 ? forwards(range) : backwards(range);
  }
  [[nodiscard]] auto slice(const RowRange& range) const -> std::vector<ShardRange> {
    std::error_code ec;
    auto ranges = slice(range, ec);
    if (ec) throw_error(ec, "a slice of " + to_string(shape_));
    return ranges;
  }

  /// The sharding of its rows, by which scatter operations and sparse reads find many of them at once (`locate_rows`,
  /// `group_by_shard`). Only for the layout that `part_slices` makes; fails with `sharding_errc::not_div_layout`.
  [[nodiscard]] auto sharding(std::error_code& ec) const noexcept -> RangeSharding {
    const RangeSharding div{rows(), num_shards(), ec};
    for (std::uint32_t shard = 0; !ec && shard < num_shards(); ++shard)
      if (div.first_row(shard) != offsets_[shard]) ec = sharding_errc::not_div_layout;
    return div;
  }
  template <class = void> [[nodiscard]] auto sharding() const -> RangeSharding {
    std::error_code ec;
    const RangeSharding div = sharding(ec);
    if (ec) throw_error(ec, "scatter on " + to_string(shape_));
    return div;
  }

  [[nodiscard]] auto operator==(const ShardedVariable&) const -> bool = default;

 private:
  template <class = void> void add(std::span<const VariableInfo> shards, std::error_code& ec) {
    ec.clear();
    if (shards.empty()) ec = sharding_errc::not_positive;
    else if (shards[0].shape.rank() == 0) ec = sharding_errc::no_such_axis;
    if (ec) return;
    std::vector<std::int64_t> offsets{0};
    std::vector<std::int64_t> whole{shards[0].shape.extents().begin(), shards[0].shape.extents().end()};
    for (const VariableInfo& shard : shards) {
      const auto extents = shard.shape.extents();
      if (shard.dtype != shards[0].dtype || extents.size() != whole.size() ||
          !std::equal(extents.begin() + 1, extents.end(), whole.begin() + 1)) {
        ec = sharding_errc::unlike_shards;
        return;
      }
      whole[0] = offsets.back() + extents[0];
      if (!Shape::valid(whole)) {
        ec = sharding_errc::too_large;
        return;
      }
      offsets.push_back(whole[0]);
    }
    dtype_ = shards[0].dtype;
    shape_ = Shape{whole};
    offsets_ = std::move(offsets);
  }

  void cut(const Shape& shape, DType dtype, Partition partition, std::error_code& ec) {
    constexpr std::int64_t most = std::numeric_limits<std::uint32_t>::max();
    ec.clear();
    if (partition.parts < 1) ec = sharding_errc::not_positive;
    else if (shape.rank() == 0) ec = sharding_errc::no_such_axis;
    else if (partition.parts > 1 && partition.axis != 0) ec = sharding_errc::not_axis_0;
    else if (partition.parts > 1 && partition.parts > std::min(shape[0], most)) ec = sharding_errc::too_many_parts;
    if (ec) return;
    dtype_ = dtype;
    shape_ = shape;
    const std::int64_t even = shape[0] / partition.parts;
    const std::int64_t longer = shape[0] % partition.parts;
    for (std::int64_t part = 0; part < partition.parts; ++part)
      offsets_.push_back(offsets_.back() + even + (part < longer ? 1 : 0));
  }

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

  template <class = void> [[nodiscard]] auto forwards(const RowRange& range) const -> std::vector<ShardRange> {
    const auto step = static_cast<std::uint64_t>(range.step);
    const std::int64_t start = from_end(range.start.value_or(0));
    const std::int64_t stop = std::min(range.stop ? from_end(*range.stop) : rows(), rows());
    std::vector<ShardRange> ranges;
    for (std::uint32_t shard = 0; shard < num_shards(); ++shard) {
      const std::int64_t first = offsets_[shard];
      const std::int64_t end = std::min(offsets_[shard + 1], stop);
      if (start >= end || first >= end) continue;
      // The first row of the range in the shard, counted from where the range could first be.
      const std::int64_t from = std::max(start, first);
      const std::uint64_t skipped = start < first ? beyond(distance(start, first), step) : 0;
      if (skipped < distance(from, end))
        ranges.push_back({shard, from + static_cast<std::int64_t>(skipped) - first, end - first, range.step});
    }
    return ranges;
  }

  template <class = void> [[nodiscard]] auto backwards(const RowRange& range) const -> std::vector<ShardRange> {
    const std::uint64_t step = std::uint64_t{0} - static_cast<std::uint64_t>(range.step);
    const std::int64_t start = range.start ? from_end(*range.start) : rows() - 1;
    const std::int64_t stop = std::max<std::int64_t>(range.stop ? from_end(*range.stop) : -1, -1);
    std::vector<ShardRange> ranges;
    for (std::uint32_t shard = num_shards(); shard-- > 0;) {
      const std::int64_t last = offsets_[shard + 1] - 1;
      const std::int64_t end = std::max(offsets_[shard] - 1, stop);  // the row before the shard's first
      if (start <= end || last <= end) continue;
      const std::int64_t from = std::min(start, last);
      const std::uint64_t skipped = start > last ? beyond(distance(last, start), step) : 0;
      if (skipped < distance(end, from))
        ranges.push_back(
            {shard, from - static_cast<std::int64_t>(skipped) - offsets_[shard], end - offsets_[shard], range.step});
    }
    return ranges;
  }

  DType dtype_ = DType::float32;
  Shape shape_{0};
  std::vector<std::int64_t> offsets_{0};
};

}  // namespace v0
}  // namespace distrib
