// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/rows/combiner.hpp>
#include <distrib/ps/rows/embedding_lookup_sparse.hpp>
#include <distrib/ps/rows/sparse_ids.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The result of `prune_ids`: a `SparseIds` that owns its lists.
struct PrunedIds {
  std::vector<std::int64_t> ids;  ///< The ids that are left, row after row.
  std::vector<std::int64_t> row_splits;  ///< One more than there are rows, ascending from 0 to `ids.size()`.
  std::vector<float> weights;  ///< One for each id. Empty: every weight is 1.

  /// A view of the lists. Valid until this object is changed or destroyed.
  [[nodiscard]] auto lookups() const noexcept -> SparseIds { return {ids, row_splits, weights}; }
};

/// Removes what TensorFlow's safe lookup ignores: ids below 0, and, unless the combiner is `sum`, ids whose weight is
/// not above 0. Rows that are empty then get `default_id` with weight 1, if there is one. Call it before `unique_keys`,
/// so that no row is pulled for nothing. Fails with `ps_errc::bad_row_splits` or `ps_errc::bad_weights`; the result is
/// empty then.
[[nodiscard]] DISTRIB_DECL auto prune_ids(const SparseIds& lookups, Combiner combiner,
                                          std::optional<std::int64_t> default_id, std::error_code& ec) -> PrunedIds;
/// This overload throws the error as `std::system_error`.
[[nodiscard]] inline auto prune_ids(const SparseIds& lookups, Combiner combiner = Combiner::mean,
                                    std::optional<std::int64_t> default_id = {}) -> PrunedIds {
  detail::check_sparse_ids(lookups);
  std::error_code ec;
  return prune_ids(lookups, combiner, default_id, ec);
}

/// Does what TensorFlow's `safe_embedding_lookup_sparse` does: `embedding_lookup_sparse` of the ids that `prune_ids`
/// returns. Rows without ids become zeros, or the row of `default_id` (scaled down to `max_norm` like any other).
/// `options.empty_rows` is ignored. Fails with the errors of the two functions. For the gradient, pass the pruned ids
/// and `LookupOptions::EmptyRows::zeros` to `embedding_lookup_sparse_gradient`.
DISTRIB_DECL void safe_embedding_lookup_sparse(std::span<const float> table, std::size_t row_size,
                                               const SparseIds& lookups, LookupOptions options,
                                               std::optional<std::int64_t> default_id, std::span<float> combined,
                                               std::error_code& ec);
/// This overload throws the error as `std::system_error`.
inline void safe_embedding_lookup_sparse(std::span<const float> table, std::size_t row_size, const SparseIds& lookups,
                                         LookupOptions options, std::optional<std::int64_t> default_id,
                                         std::span<float> combined) {
  std::error_code ec;
  safe_embedding_lookup_sparse(table, row_size, lookups, options, default_id, combined, ec);
  if (ec) detail::throw_lookup_error(ec, table.size(), row_size, lookups);
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/rows/impl/safe_embedding_lookup_sparse.ipp>
#endif
