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

/// Scales each row whose l2 norm is above `max_norm` down to that norm, in place; shorter rows keep their bits.
/// TensorFlow does this to looked-up rows for `max_norm` of `embedding_lookup`. Norms are summed in double, in a fixed
/// order of elements.
///
/// Errors: `ps_errc::shape_mismatch` if `rows` are not whole rows of `row_size` elements; `ps_errc::not_positive` if
/// `max_norm` is not above 0. The rows are unchanged then.
DISTRIB_DECL void clip_rows(std::span<float> rows, std::size_t row_size, float max_norm, std::error_code& ec);
/// This overload throws the error as `std::system_error`.
inline void clip_rows(std::span<float> rows, std::size_t row_size, float max_norm) {
  std::error_code ec;
  clip_rows(rows, row_size, max_norm, ec);
  if (ec)
    throw_error(ec, "rows of " + std::to_string(row_size) + " elements with max_norm " + std::to_string(max_norm));
}

/// Computes the gradient of `clip_rows`: turns the gradients of the clipped rows into the gradients of `rows` as they
/// were before, in place. It is the true derivative: the component along a clipped row becomes 0, the rest is scaled as
/// the row was.
///
/// Errors: `ps_errc::shape_mismatch` if `rows` are not whole rows of `row_size` elements, or `gradients` is not as long
/// as `rows`; `not_positive` if `max_norm` is not above 0. The gradients are unchanged then.
DISTRIB_DECL void clip_rows_gradient(std::span<const float> rows, std::size_t row_size, float max_norm,
                                     std::span<float> gradients, std::error_code& ec);
/// This overload throws the error as `std::system_error`.
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
