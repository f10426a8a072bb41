// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/dtype.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/sharding/sharded_variable.hpp>

#include <algorithm>
#include <cassert>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <numeric>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a scatter operation does to a row with the row that is passed for it: TensorFlow's scatter_update, scatter_add,
/// ...
enum class RowUpdate { update, add, sub, mul, div, min, max };

/// The order in which a sparse read returns rows.
enum class RowOrder {
  as_asked,  ///< The order of the indices.
  /// First the rows of shard 0, then the rows of shard 1, and so on, for each shard in the order of the indices: as
  /// TensorFlow.
  by_shard,
};

/// A variable in shards, with its values in this process: TensorFlow's ShardedVariable. Each shard has memory of its
/// own, so it can be saved as a slice of the whole. The whole is read and written as if it were not divided. A value.
///
/// Errors: a function sets `ec`; the overload without `ec` throws `std::system_error`. After a failure a result is
/// empty.
template <std::floating_point T> class ShardedValues {
 public:
  /// Makes values that are all zero. The element type of `variable` must be `T` (programmer error otherwise; asserted).
  explicit ShardedValues(ShardedVariable variable) : variable_{std::move(variable)} {
    assert(variable_.dtype() == detail::dtype_of<T>);
    const auto extents = variable_.shape().extents().subspan(1);
    row_size_ =
        static_cast<std::size_t>(std::accumulate(extents.begin(), extents.end(), std::int64_t{1}, std::multiplies<>{}));
    for (std::uint32_t shard = 0; shard < variable_.num_shards(); ++shard)
      shards_.emplace_back(static_cast<std::size_t>(rows_of(shard)) * row_size_);
  }

  /// Returns which rows are in which shard.
  [[nodiscard]] auto variable() const noexcept -> const ShardedVariable& { return variable_; }
  /// Returns the number of elements in a row.
  [[nodiscard]] auto row_size() const noexcept -> std::size_t { return row_size_; }
  /// Returns the values of one shard, row-major. `shard` must be below `variable().num_shards()` (not checked).
  [[nodiscard]] auto shard(std::uint32_t shard) noexcept -> std::span<T> { return shards_[shard]; }
  [[nodiscard]] auto shard(std::uint32_t shard) const noexcept -> std::span<const T> { return shards_[shard]; }
  /// Returns which part of the whole a shard is. `shard` must be below `variable().num_shards()` (not checked). A
  /// checkpoint saves the shard under this slice, and can restore it into a variable that is divided in another way.
  [[nodiscard]] auto slice_of(std::uint32_t shard) const -> Slice {
    return Slice::along(variable_.shape(), 0, variable_.offsets()[shard], rows_of(shard));
  }

  /// Returns all values, row-major.
  [[nodiscard]] auto values() const -> std::vector<T> {
    std::vector<T> whole;
    for (const std::vector<T>& shard : shards_) whole.insert(whole.end(), shard.begin(), shard.end());
    return whole;
  }

  /// Returns one row. A negative index counts from the end: -1 is the last row. Valid as long as this object.
  ///
  /// Errors: `sharding_errc::no_such_row` if `index` is not from -rows to rows - 1, with rows the number of rows of the
  /// variable.
  [[nodiscard]] auto row(std::int64_t index, std::error_code& ec) const noexcept -> std::span<const T> {
    const ShardRow place = variable_.locate(index, ec);
    return ec ? std::span<const T>{} : at(place);
  }
  [[nodiscard]] auto row(std::int64_t index) const -> std::span<const T> { return at(variable_.locate(index)); }

  /// Returns the rows of a range, row-major; empty if the range has no rows. A start or stop outside of the variable is
  /// no error: rows that do not exist are left out. Steps are counted from a start that is outside, as in TensorFlow:
  /// see `ShardedVariable::slice`.
  ///
  /// Errors: `sharding_errc::zero_step` if the step is 0.
  [[nodiscard]] auto rows(const ShardedVariable::RowRange& range, std::error_code& ec) const -> std::vector<T> {
    std::vector<T> found;
    for (const ShardedVariable::ShardRange& of : variable_.slice(range, ec))
      for (std::int64_t i = 0; i < of.count(); ++i) append(found, {of.shard, of.start + i * of.step});
    return found;
  }
  [[nodiscard]] auto rows(const ShardedVariable::RowRange& range) const -> std::vector<T> {
    std::error_code ec;
    std::vector<T> found = rows(range, ec);
    fail(ec, "a slice");
    return found;
  }

  /// Applies `update` to all values with the values of `whole`, row-major: TensorFlow's assign, assign_add, assign_sub.
  /// Works in any layout.
  ///
  /// Errors: `sharding_errc::wrong_size` if `whole` does not have as many values as the variable; nothing is changed.
  void assign(std::span<const T> whole, RowUpdate update, std::error_code& ec) {
    ec.clear();
    if (whole.size() != static_cast<std::size_t>(variable_.rows()) * row_size_) ec = sharding_errc::wrong_size;
    if (ec) return;
    for (std::vector<T>& shard : shards_) {
      apply(update, shard, whole.first(shard.size()));
      whole = whole.subspan(shard.size());
    }
  }
  void assign(std::span<const T> whole, RowUpdate update = RowUpdate::update) {
    std::error_code ec;
    assign(whole, update, ec);
    fail(ec, "assign");
  }

  /// Applies `update` to the rows of `indices`, one after the other, with the rows of `updates`, row-major. An index
  /// may occur several times.
  ///
  /// Errors: `sharding_errc::not_div_layout`, `no_such_row` (also for negative indices), `wrong_size` if `updates` does
  /// not have one row for each index; nothing is changed.
  void scatter(RowUpdate update, std::span<const std::int64_t> indices, std::span<const T> updates,
               std::error_code& ec) {
    const std::vector<ShardRow> places = locate(indices, ec);
    if (!ec && updates.size() != indices.size() * row_size_) ec = sharding_errc::wrong_size;
    if (ec) return;
    for (const ShardRow& place : places) {
      const std::size_t first = static_cast<std::size_t>(place.row) * row_size_;
      apply(update, std::span{shards_[place.shard]}.subspan(first, row_size_), updates.first(row_size_));
      updates = updates.subspan(row_size_);
    }
  }
  void scatter(RowUpdate update, std::span<const std::int64_t> indices, std::span<const T> updates) {
    std::error_code ec;
    scatter(update, indices, updates, ec);
    fail(ec, "scatter");
  }

  /// Returns the rows of `indices`, row-major.
  ///
  /// Errors: `sharding_errc::not_div_layout`, `no_such_row` (also for negative indices). The result is empty then.
  [[nodiscard]] auto sparse_read(std::span<const std::int64_t> indices, RowOrder order, std::error_code& ec) const
      -> std::vector<T> {
    const std::vector<ShardRow> places = locate(indices, ec);
    if (ec) return {};
    std::vector<std::size_t> positions(places.size());
    std::iota(positions.begin(), positions.end(), std::size_t{0});
    const auto earlier = [&](std::size_t a, std::size_t b) {
      return std::pair{places[a].shard, a} < std::pair{places[b].shard, b};
    };
    if (order == RowOrder::by_shard) std::sort(positions.begin(), positions.end(), earlier);
    std::vector<T> found;
    for (const std::size_t position : positions) append(found, places[position]);
    return found;
  }
  [[nodiscard]] auto sparse_read(std::span<const std::int64_t> indices, RowOrder order = RowOrder::as_asked) const
      -> std::vector<T> {
    std::error_code ec;
    std::vector<T> found = sparse_read(indices, order, ec);
    fail(ec, "sparse read");
    return found;
  }

  [[nodiscard]] auto operator==(const ShardedValues&) const -> bool = default;

 private:
  [[nodiscard]] auto rows_of(std::uint32_t shard) const noexcept -> std::int64_t {
    return variable_.offsets()[shard + 1] - variable_.offsets()[shard];
  }
  [[nodiscard]] auto at(const ShardRow& place) const noexcept -> std::span<const T> {
    return std::span{shards_[place.shard]}.subspan(static_cast<std::size_t>(place.row) * row_size_, row_size_);
  }
  void append(std::vector<T>& to, const ShardRow& place) const {
    const auto row = at(place);
    to.insert(to.end(), row.begin(), row.end());
  }
  [[nodiscard]] auto locate(std::span<const std::int64_t> indices, std::error_code& ec) const -> std::vector<ShardRow> {
    const RangeSharding sharding = variable_.sharding(ec);
    std::vector<ShardRow> places(indices.size());
    if (!ec) locate_rows(sharding, indices, places, ec);
    return places;
  }
  void fail(const std::error_code& ec, const char* what) const {
    if (ec) throw_error(ec, what + (" of " + to_string(variable_.shape())));
  }

  static void apply(RowUpdate update, std::span<T> to, std::span<const T> from) {
    const auto with = [&](auto f) { std::transform(to.begin(), to.end(), from.begin(), to.begin(), f); };
    switch (update) {
      case RowUpdate::update: return with([](T, T b) { return b; });
      case RowUpdate::add: return with([](T a, T b) { return a + b; });
      case RowUpdate::sub: return with([](T a, T b) { return a - b; });
      case RowUpdate::mul: return with([](T a, T b) { return a * b; });
      case RowUpdate::div: return with([](T a, T b) { return a / b; });
      case RowUpdate::min: return with([](T a, T b) { return std::min(a, b); });
      case RowUpdate::max: return with([](T a, T b) { return std::max(a, b); });
    }
  }

  ShardedVariable variable_;
  std::size_t row_size_ = 1;
  std::vector<std::vector<T>> shards_;
};

}  // namespace v0
}  // namespace distrib
