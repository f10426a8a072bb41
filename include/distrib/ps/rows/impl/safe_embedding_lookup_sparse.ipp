// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/rows/safe_embedding_lookup_sparse.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto prune_ids(const SparseIds& lookups, Combiner combiner, std::optional<std::int64_t> default_id,
                            std::error_code& ec) -> PrunedIds {
  detail::check_sparse_ids(lookups, ec);
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

DISTRIB_DECL void safe_embedding_lookup_sparse(std::span<const float> table, std::size_t row_size,
                                               const SparseIds& lookups, LookupOptions options,
                                               std::optional<std::int64_t> default_id, std::span<float> combined,
                                               std::error_code& ec) {
  const PrunedIds kept = prune_ids(lookups, options.combiner, default_id, ec);
  if (ec) return;
  options.empty_rows = LookupOptions::EmptyRows::zeros;
  embedding_lookup_sparse(table, row_size, kept.lookups(), options, combined, ec);
}

}  // namespace v0
}  // namespace distrib
