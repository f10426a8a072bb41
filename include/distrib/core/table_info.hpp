// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/core/initializer.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>

namespace distrib {
inline namespace v0 {

/// A table of embeddings for run-time code: rows of `dim` floats, found by key. A value.
struct TableInfo {
  std::string name;
  std::uint32_t dim = 1;  ///< Number of floats in a row.
  std::uint64_t rows = 0;  ///< The keys are 0 .. rows - 1. 0: any 64-bit number is a key.
  Initializer initializer = UniformInitializer{};  ///< Initial values of a row.
  /// A key gets its row at the update that is the `min_count`-th to contain it. At least 1; above 4095 counts as 4095.
  /// Must be 1 if `rows` is not 0.
  std::uint32_t min_count = 1;
  /// A key is removed if none of the last `evict_after` updates contained it (see `TableStore::apply`). 0: no key
  /// is removed. Must be 0 if `rows` is not 0.
  std::uint64_t evict_after = 0;
  /// Format in which rows are kept where they are trained. Updates are rounded at random.
  FloatFormat kept_as = FloatFormat::float32;
  /// True: with each update a 64th of the virtual shards is searched for keys to remove for `evict_after`. False: each
  /// 64th update searches all. Must be false if `evict_after` is 0.
  bool evict_in_turns = false;
  /// Most keys with a row after an update, of all shards together, rounded up to a multiple of 1024. If there are more,
  /// those used least go (see `TableStore::apply`). At most `max_rows_limit`. 0: no limit. Must be 0 if `rows` is not 0.
  std::uint64_t max_rows = 0;
  /// After this many updates a use of a key counts as half a use, so that `max_rows` keeps what is used now. Counted in
  /// steps of 64. 0: all uses count the same. Must be 0 if `max_rows` is 0.
  std::uint64_t half_life = 0;
  /// Most keys without a row that one update contains, all workers together; the servers set memory aside for them. At
  /// most `max_rows_limit`. 0: a sixteenth of `max_rows`, at least 65 536. Must be 0 if `max_rows` is 0.
  std::uint64_t max_new_keys = 0;

  /// The largest `max_rows` and `max_new_keys`.
  static constexpr std::uint64_t max_rows_limit = std::uint64_t{1} << 40;

  [[nodiscard]] auto operator==(const TableInfo&) const -> bool = default;

  /// True if any 64-bit number is a key.
  [[nodiscard]] constexpr auto any_key() const noexcept -> bool { return rows == 0; }
  /// True if the options that make and remove rows go together: those that are only for any keys, and those that only
  /// mean something beside another one.
  [[nodiscard]] constexpr auto has_good_options() const noexcept -> bool {
    const bool any_options = min_count != 1 || evict_after != 0 || max_rows != 0;
    return min_count != 0 && (any_key() || !any_options) && (evict_after != 0 || !evict_in_turns) &&
           (max_rows != 0 || (half_life == 0 && max_new_keys == 0)) && max_rows <= max_rows_limit &&
           max_new_keys <= max_rows_limit;
  }
  [[nodiscard]] auto row_bytes() const noexcept -> std::size_t { return std::size_t{dim} * sizeof(float); }
};

/// Writes initial rows of one table. The row of a key is a pure function of (initializer, seed, name, key): it does not
/// matter when and on which machine it is first used. It equals row `key` of a variable of shape [rows, dim] with the
/// same name; indices of elements are taken modulo 2^64. Glorot's fans are computed for the shape [rows, dim], or for
/// [dim] if any number is a key. A `CustomInitializer` writes zeros; a job refuses it for tables. A value.
class RowInitializer {
 public:
  DISTRIB_DECL RowInitializer(const TableInfo& table, std::uint64_t seed);

  /// Writes the initial row of `key`. `row` must have `dim` elements.
  void operator()(std::uint64_t key, std::span<float> row) const noexcept {
    if (uniform_) uniform_->fill(key * dim_, row);
    else std::fill(row.begin(), row.end(), constant_);
  }

 private:
  std::uint64_t dim_;
  float constant_ = 0.0F;
  std::optional<detail::UniformElements> uniform_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/table_info.ipp>
#endif
