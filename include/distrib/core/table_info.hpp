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

/// A table of embeddings as run-time code sees it: rows of `dim` floats, found by key. A value.
struct TableInfo {
  std::string name;
  std::uint32_t dim = 1;                           ///< Floats of a row.
  std::uint64_t rows = 0;                          ///< Keys are 0 .. rows - 1; 0: any 64 bits are a key.
  Initializer initializer = UniformInitializer{};  ///< Of rows that nothing was learnt of yet.
  std::uint32_t min_count = 1;    ///< Of any keys: one gets a row when so many updates had it, at most 4095.
  std::uint64_t evict_after =
      0;  ///< Of any keys: one that no update had for so many goes, see `TableStore`; 0: none does.
  FloatFormat kept_as = FloatFormat::float32;  ///< Where they are trained; updates are rounded at random.

  [[nodiscard]] auto operator==(const TableInfo&) const -> bool = default;

  /// Whether any 64 bits are a key.
  [[nodiscard]] auto any_key() const noexcept -> bool { return rows == 0; }
  [[nodiscard]] auto row_bytes() const noexcept -> std::size_t { return std::size_t{dim} * sizeof(float); }
};

/// Writes initial rows of one table. The row of a key is a pure function of (initializer, seed, name, key), whoever
/// asks first: that of row `key` of a variable of shape [rows, dim] and the same name, elements counted modulo 2^64.
/// Glorot's fans are those of [rows, dim]; where any 64 bits are a key, of a vector [dim]. A value.
class RowInitializer {
 public:
  DISTRIB_DECL RowInitializer(const TableInfo& table, std::uint64_t seed);

  /// Writes the row of `key`; `row` has `dim` elements.
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
