// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstddef>
#include <span>
#include <string>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Scales each row that is longer than `max_norm` (l2) to it, in place; shorter rows keep their bits. What TensorFlow's
/// `max_norm` of `embedding_lookup` does to the rows that were looked up. Norms are summed in double, in a fixed order
/// of elements. Fails with `ps_errc::shape_mismatch` (no whole rows of `row_size`) and `ps_errc::not_positive`
/// (`max_norm`).
DISTRIB_DECL void clip_rows(std::span<float> rows, std::size_t row_size, float max_norm, std::error_code& ec);
inline void clip_rows(std::span<float> rows, std::size_t row_size, float max_norm) {
  std::error_code ec;
  clip_rows(rows, row_size, max_norm, ec);
  if (ec)
    throw_error(ec, "rows of " + std::to_string(row_size) + " elements with max_norm " + std::to_string(max_norm));
}

/// The way back: of `gradients`, those of the clipped rows, makes those of `rows` as they were before, in place. The
/// true derivative: what points along a clipped row is gone, the rest is scaled as the row was. Fails as `clip_rows`,
/// and with `ps_errc::shape_mismatch` when there is not one gradient for each row.
DISTRIB_DECL void clip_rows_gradient(std::span<const float> rows, std::size_t row_size, float max_norm,
                                     std::span<float> gradients, std::error_code& ec);
inline void clip_rows_gradient(std::span<const float> rows, std::size_t row_size, float max_norm,
                               std::span<float> gradients) {
  std::error_code ec;
  clip_rows_gradient(rows, row_size, max_norm, gradients, ec);
  if (ec)
    throw_error(
        ec, "gradients of rows of " + std::to_string(row_size) + " elements with max_norm " + std::to_string(max_norm));
}

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/rows/impl/clip_rows.ipp>
#endif
