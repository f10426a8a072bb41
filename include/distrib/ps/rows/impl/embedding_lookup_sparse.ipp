// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/rows/embedding_lookup_sparse.hpp>

#include <distrib/ps/job/error.hpp>
#include <distrib/ps/rows/clip_rows.hpp>
#include <distrib/ps/rows/row_math.hpp>

#include <algorithm>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

// The divisor of a row's sum. Added in the order of positions, in double.
DISTRIB_DECL auto lookup_divisor(const SparseIds& lookups, std::size_t row, Combiner combiner) noexcept -> float {
  if (combiner == Combiner::sum) return 1.0F;
  const std::size_t count = lookups.size_of(row);
  Rounded<double> sum{lookups.weights.empty() ? static_cast<double>(count) : 0.0};
  for (std::size_t i = 0; i < count && !lookups.weights.empty(); ++i) {
    const Rounded<double> weight{static_cast<double>(lookups.weights[lookups.begin_of(row) + i])};
    sum = sum + (combiner == Combiner::sqrtn ? weight * weight : weight);
  }
  return static_cast<float>((combiner == Combiner::sqrtn ? sqrt(sum) : sum).value);
}

// Checks the arguments of both directions. `table` and `combined` are numbers of elements.
DISTRIB_DECL void check_lookup(std::size_t table, std::size_t row_size, const SparseIds& lookups,
                               const LookupOptions& options, std::size_t combined, std::error_code& ec) noexcept {
  check_sparse_ids(lookups, ec);
  if (ec) return;
  const std::size_t table_rows = count_rows(table, row_size, ec);
  if (!is_rows(combined, lookups.rows(), row_size)) ec = ps_errc::shape_mismatch;
  if (options.max_norm && !(*options.max_norm > 0)) ec = ps_errc::not_positive;
  for (std::size_t row = 0; !ec && row < lookups.rows(); ++row)
    if (lookups.size_of(row) == 0 && options.empty_rows == LookupOptions::EmptyRows::refused) ec = ps_errc::empty_row;
  for (const std::int64_t id : lookups.ids)
    if (!ec && !has_row(id, table_rows)) ec = ps_errc::no_such_row;
}

}  // namespace detail

DISTRIB_DECL void embedding_lookup_sparse(std::span<const float> table, std::size_t row_size, const SparseIds& lookups,
                                          const LookupOptions& options, std::span<float> combined,
                                          std::error_code& ec) {
  detail::check_lookup(table.size(), row_size, lookups, options, combined.size(), ec);
  if (ec) return;
  std::fill(combined.begin(), combined.end(), 0.0F);
  std::vector<float> clipped(options.max_norm ? row_size : 0);
  const auto looked_up = [&](std::int64_t id) -> const float* {
    const float* const found = table.data() + static_cast<std::size_t>(id) * row_size;
    if (!options.max_norm) return found;
    const double norm = detail::norm(found, row_size).value;
    if (!(norm > static_cast<double>(*options.max_norm))) return found;
    detail::rescale_row(clipped.data(), found, *options.max_norm, static_cast<float>(norm), row_size);
    return clipped.data();
  };
  for (std::size_t row = 0; row < lookups.rows(); ++row) {
    const float divisor = detail::lookup_divisor(lookups, row, options.combiner);
    if (divisor == 0) continue;
    float* const to = combined.data() + row * row_size;
    for (std::size_t i = lookups.begin_of(row); i < lookups.begin_of(row + 1); ++i) {
      const float* const found = looked_up(lookups.ids[i]);
      if (lookups.weights.empty()) detail::add_row(to, found, row_size);
      else detail::add_weighted_row(to, found, lookups.weights[i], row_size);
    }
    if (options.combiner != Combiner::sum) detail::divide_row(to, divisor, row_size);
  }
}

DISTRIB_DECL void embedding_lookup_sparse_gradient(std::span<const float> table, std::size_t row_size,
                                                   const SparseIds& lookups, const LookupOptions& options,
                                                   std::span<const float> combined_gradient,
                                                   std::span<float> table_gradient, std::error_code& ec) {
  detail::check_lookup(table.size(), row_size, lookups, options, combined_gradient.size(), ec);
  if (!ec && table_gradient.size() != table.size()) ec = ps_errc::shape_mismatch;
  if (ec) return;
  std::fill(table_gradient.begin(), table_gradient.end(), 0.0F);
  for (std::size_t row = 0; row < lookups.rows(); ++row) {
    const float divisor = detail::lookup_divisor(lookups, row, options.combiner);
    if (divisor == 0) continue;
    const float* const from = combined_gradient.data() + row * row_size;
    for (std::size_t i = lookups.begin_of(row); i < lookups.begin_of(row + 1); ++i) {
      const double weight = lookups.weights.empty() ? 1.0 : static_cast<double>(lookups.weights[i]);
      const auto share = static_cast<float>(detail::divide(weight, static_cast<double>(divisor)));
      float* const to = table_gradient.data() + static_cast<std::size_t>(lookups.ids[i]) * row_size;
      detail::add_weighted_row(to, from, share, row_size);
    }
  }
  if (options.max_norm) clip_rows_gradient(table, row_size, *options.max_norm, table_gradient, ec);
}

}  // namespace v0
}  // namespace distrib
