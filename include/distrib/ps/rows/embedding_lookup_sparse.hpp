// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/rows/combiner.hpp>
#include <distrib/ps/rows/sparse_ids.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// How rows are looked up and combined.
struct LookupOptions {
  /// What becomes of a row without ids.
  enum class EmptyRows : std::uint8_t {
    refused,  ///< `ps_errc::empty_row`: TensorFlow's `embedding_lookup_sparse` needs an id in every row.
    zeros,    ///< A row of zeros, as its safe variant gives.
  };

  Combiner combiner = Combiner::mean;
  std::optional<float> max_norm{};  ///< Rows of the table that are longer (l2) count as scaled to it; see `clip_rows`.
  EmptyRows empty_rows = EmptyRows::refused;
};

namespace detail {

[[noreturn]] inline void throw_lookup_error(const std::error_code& ec, std::size_t table, std::size_t row_size,
                                            const SparseIds& lookups) {
  throw_error(ec, "a lookup of " + std::to_string(lookups.ids.size()) + " ids with " +
                      std::to_string(lookups.weights.size()) + " weights in a table of " + std::to_string(table) +
                      " elements, " + std::to_string(row_size) + " a row");
}

}  // namespace detail

/// TensorFlow's `embedding_lookup_sparse`: row r of `combined` is the sum of weight * (row `id` of `table`) over row r
/// of `lookups`, divided as `options.combiner` says; where the divisor is 0 the row is zeros. `table` holds whole rows
/// of `row_size` elements, or of a larger table those rows that `unique_keys` asked for, with its `index` as ids.
///
/// Added in the order of positions, each operation rounded to float: the same bits on every machine. Takes no memory
/// but a row with `max_norm`. Fails, with `combined` untouched, with `ps_errc::bad_row_splits`, `bad_weights`,
/// `shape_mismatch` (`table` not whole rows, `combined` not one for each row of ids), `no_such_row`, `empty_row`,
/// `not_positive` (`max_norm`).
DISTRIB_DECL void embedding_lookup_sparse(std::span<const float> table, std::size_t row_size, const SparseIds& lookups,
                                          const LookupOptions& options, std::span<float> combined, std::error_code& ec);
inline void embedding_lookup_sparse(std::span<const float> table, std::size_t row_size, const SparseIds& lookups,
                                    const LookupOptions& options, std::span<float> combined) {
  std::error_code ec;
  embedding_lookup_sparse(table, row_size, lookups, options, combined, ec);
  if (ec) detail::throw_lookup_error(ec, table.size(), row_size, lookups);
}

/// The way back: of `combined_gradient`, that of what `embedding_lookup_sparse` gave for the same `table`, `lookups`
/// and `options`, makes that of each row of `table`: the sum over the positions that looked it up, in their order, of
/// weight / divisor * (gradient of the row that has the position); with `max_norm` then through `clip_rows_gradient`.
/// Rows nobody looked up get zeros, so `table` is best what `unique_keys` asked for. Weights get no gradient. Fails as
/// `embedding_lookup_sparse`, and with `ps_errc::shape_mismatch` when `table_gradient` is not as `table`.
DISTRIB_DECL void embedding_lookup_sparse_gradient(std::span<const float> table, std::size_t row_size,
                                                   const SparseIds& lookups, const LookupOptions& options,
                                                   std::span<const float> combined_gradient,
                                                   std::span<float> table_gradient, std::error_code& ec);
inline void embedding_lookup_sparse_gradient(std::span<const float> table, std::size_t row_size,
                                             const SparseIds& lookups, const LookupOptions& options,
                                             std::span<const float> combined_gradient,
                                             std::span<float> table_gradient) {
  std::error_code ec;
  embedding_lookup_sparse_gradient(table, row_size, lookups, options, combined_gradient, table_gradient, ec);
  if (ec) detail::throw_lookup_error(ec, table.size(), row_size, lookups);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/rows/impl/embedding_lookup_sparse.ipp>
#endif
