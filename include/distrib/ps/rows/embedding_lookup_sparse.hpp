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
  /// What happens to a row without ids.
  enum class EmptyRows : std::uint8_t {
    refused,  ///< Fails with `ps_errc::empty_row`: TensorFlow's `embedding_lookup_sparse` needs an id in every row.
    zeros,  ///< Becomes a row of zeros, as in TensorFlow's safe variant.
  };

  Combiner combiner = Combiner::mean;  ///< How the rows of the ids of a row are combined.
  /// Rows of the table with a larger l2 norm are scaled down to it for the lookup, see `clip_rows`. Empty: no limit.
  std::optional<float> max_norm{};
  EmptyRows empty_rows = EmptyRows::refused;
};

namespace detail {

[[noreturn]] inline void throw_lookup_error(const std::error_code& ec, std::size_t table, std::size_t row_size,
                                            const SparseIds& lookups) {
  throw_error(ec, "a lookup of " + std::to_string(lookups.ids.size()) + " ids with " +
                      std::to_string(lookups.weights.size()) + " weights in a table of " + std::to_string(table) +
                      " elements, " + std::to_string(row_size) + " in each row");
}

}  // namespace detail

/// Does what TensorFlow's `embedding_lookup_sparse` does. Row r of `combined` becomes the sum of weight * (row `id` of
/// `table`) over the ids of row r of `lookups`, divided as `options.combiner` says; zeros if the divisor is 0. `table`
/// has whole rows of `row_size` elements. For a larger table pass only the rows that `unique_keys` asked for, and its
/// `index` as ids.
///
/// The sum is added in the order of positions, and each operation is rounded to float: the same bits on every machine.
/// Allocates nothing, but one row if there is a `max_norm`.
///
/// Errors: `ps_errc::bad_row_splits`; `bad_weights`; `shape_mismatch` if `table` is not whole rows, or `combined` does
/// not have one row for each row of ids; `no_such_row`; `empty_row`; `not_positive` for `max_norm`. `combined` is
/// unchanged then.
DISTRIB_DECL void embedding_lookup_sparse(std::span<const float> table, std::size_t row_size, const SparseIds& lookups,
                                          const LookupOptions& options, std::span<float> combined, std::error_code& ec);
/// This overload throws the error as `std::system_error`.
inline void embedding_lookup_sparse(std::span<const float> table, std::size_t row_size, const SparseIds& lookups,
                                    const LookupOptions& options, std::span<float> combined) {
  std::error_code ec;
  embedding_lookup_sparse(table, row_size, lookups, options, combined, ec);
  if (ec) detail::throw_lookup_error(ec, table.size(), row_size, lookups);
}

/// Computes the gradient of `embedding_lookup_sparse`. `combined_gradient` is the gradient of the result for the same
/// `table`, `lookups` and `options`. Each row of `table_gradient` becomes the sum, over the positions that looked that
/// row up, in their order, of weight / divisor * (row of `combined_gradient` that has the position); with a `max_norm`
/// it is then passed through `clip_rows_gradient`. Rows that were not looked up get zeros, so it is best to pass as
/// `table` only what `unique_keys` asked for. Weights get no gradient.
///
/// Errors: `ps_errc::bad_row_splits`; `bad_weights`; `shape_mismatch` if `table` is not whole rows, `combined_gradient`
/// does not have one row for each row of ids, or `table_gradient` is not as long as `table`; `no_such_row`;
/// `empty_row`; `not_positive` for `max_norm`. `table_gradient` is unchanged then.
DISTRIB_DECL void embedding_lookup_sparse_gradient(std::span<const float> table, std::size_t row_size,
                                                   const SparseIds& lookups, const LookupOptions& options,
                                                   std::span<const float> combined_gradient,
                                                   std::span<float> table_gradient, std::error_code& ec);
/// This overload throws the error as `std::system_error`.
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
