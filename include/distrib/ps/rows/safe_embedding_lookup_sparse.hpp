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

/// What is left of rows of ids; a `SparseIds` that owns its lists.
struct PrunedIds {
  std::vector<std::int64_t> ids;
  std::vector<std::int64_t> row_splits;
  std::vector<float> weights;

  /// Valid as long as this is neither changed nor gone.
  [[nodiscard]] auto lookups() const noexcept -> SparseIds { return {ids, row_splits, weights}; }
};

/// What TensorFlow's safe lookup leaves out: ids below 0, and unless the combiner is `sum` ids whose weight is not
/// above 0. Rows that are then empty get `default_id` with weight 1, if there is one. To be called before
/// `unique_keys`, so that nothing is asked for in vain. Fails with `ps_errc::bad_row_splits`, `ps_errc::bad_weights`.
[[nodiscard]] DISTRIB_DECL auto prune_ids(const SparseIds& lookups, Combiner combiner,
                                          std::optional<std::int64_t> default_id, std::error_code& ec) -> PrunedIds;
[[nodiscard]] inline auto prune_ids(const SparseIds& lookups, Combiner combiner = Combiner::mean,
                                    std::optional<std::int64_t> default_id = {}) -> PrunedIds {
  detail::check_sparse_ids(lookups);
  std::error_code ec;
  return prune_ids(lookups, combiner, default_id, ec);
}

/// TensorFlow's `safe_embedding_lookup_sparse`: `embedding_lookup_sparse` of what `prune_ids` leaves; rows without ids
/// are zeros, or the row of `default_id` (clipped by `max_norm` like any other). `options.empty_rows` has no meaning.
/// Fails as both do. For the way back give the pruned ids, and `LookupOptions::EmptyRows::zeros`, to
/// `embedding_lookup_sparse_gradient`.
DISTRIB_DECL void safe_embedding_lookup_sparse(std::span<const float> table, std::size_t row_size,
                                               const SparseIds& lookups, LookupOptions options,
                                               std::optional<std::int64_t> default_id, std::span<float> combined,
                                               std::error_code& ec);
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
