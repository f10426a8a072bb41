// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/rows/sparse_ids.hpp>

#include <distrib/ps/job/error.hpp>

namespace distrib {
inline namespace v0 {

namespace detail {

DISTRIB_DECL void check_sparse_ids(const SparseIds& lookups, std::error_code& ec) noexcept {
  ec.clear();
  std::int64_t last = 0;
  for (const std::int64_t split : lookups.row_splits) {
    if (split < last) ec = ps_errc::bad_row_splits;
    last = split;
  }
  if (lookups.row_splits.empty() || lookups.row_splits.front() != 0 ||
      static_cast<std::uint64_t>(lookups.row_splits.back()) != lookups.ids.size())
    ec = ps_errc::bad_row_splits;
  if (!ec && !lookups.weights.empty() && lookups.weights.size() != lookups.ids.size()) ec = ps_errc::bad_weights;
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
