// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/rows/combiner.hpp>
#include <distrib/ps/rows/embedding_lookup_sparse.hpp>
#include <distrib/ps/rows/sparse_ids.hpp>

#include <cstddef>
#include <cstdint>
#include <optional>
#include <span>
#include <string>
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
template <class = void>
[[nodiscard]] auto prune_ids(const SparseIds& lookups, Combiner combiner, std::optional<std::int64_t> default_id,
                             std::error_code& ec) -> PrunedIds {
  check_sparse_ids(lookups, ec);
  if (ec) return {};
  const bool weighted = !lookups.weights.empty();
  PrunedIds kept;
  const auto keep = [&](std::int64_t id, float weight) {
    kept.ids.push_back(id);
    if (weighted) kept.weights.push_back(weight);
  };
  kept.row_splits.push_back(0);
  for (std::size_t row = 0; row < lookups.rows(); ++row) {
    for (std::size_t i = lookups.begin_of(row); i < lookups.begin_of(row + 1); ++i) {
      const float weight = weighted ? lookups.weights[i] : 1.0F;
      if (lookups.ids[i] >= 0 && (combiner == Combiner::sum || weight > 0)) keep(lookups.ids[i], weight);
    }
    const bool is_empty = static_cast<std::int64_t>(kept.ids.size()) == kept.row_splits.back();
    if (is_empty && default_id) keep(*default_id, 1.0F);
    kept.row_splits.push_back(static_cast<std::int64_t>(kept.ids.size()));
  }
  return kept;
}
template <class = void>
[[nodiscard]] auto prune_ids(const SparseIds& lookups, Combiner combiner = Combiner::mean,
                             std::optional<std::int64_t> default_id = {}) -> PrunedIds {
  check_sparse_ids(lookups);
  std::error_code ec;
  return prune_ids(lookups, combiner, default_id, ec);
}

/// TensorFlow's `safe_embedding_lookup_sparse`: `embedding_lookup_sparse` of what `prune_ids` leaves; rows without ids
/// are zeros, or the row of `default_id` (clipped by `max_norm` like any other). `options.empty_rows` has no meaning.
/// Fails as both do. For the way back give the pruned ids, and `EmptyRows::zeros`, to
/// `embedding_lookup_sparse_gradient`.
template <class = void>
void safe_embedding_lookup_sparse(std::span<const float> table, std::size_t row_size, const SparseIds& lookups,
                                  LookupOptions options, std::optional<std::int64_t> default_id,
                                  std::span<float> combined, std::error_code& ec) {
  const PrunedIds kept = prune_ids(lookups, options.combiner, default_id, ec);
  if (ec) return;
  options.empty_rows = EmptyRows::zeros;
  embedding_lookup_sparse(table, row_size, kept.lookups(), options, combined, ec);
}
template <class = void>
void safe_embedding_lookup_sparse(std::span<const float> table, std::size_t row_size, const SparseIds& lookups,
                                  LookupOptions options, std::optional<std::int64_t> default_id,
                                  std::span<float> combined) {
  std::error_code ec;
  safe_embedding_lookup_sparse(table, row_size, lookups, options, default_id, combined, ec);
  if (ec) detail::throw_lookup_error(ec, table.size(), row_size, lookups);
}

}  // namespace v0
}  // namespace distrib
