// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/rows/clip_rows.hpp>

#include <distrib/ps/job/error.hpp>
#include <distrib/ps/rows/row_math.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void clip_rows(std::span<float> rows, std::size_t row_size, float max_norm, std::error_code& ec) {
  ec.clear();
  const std::size_t count = detail::count_rows(rows.size(), row_size, ec);
  if (!(max_norm > 0)) ec = ps_errc::not_positive;
  for (std::size_t i = 0; !ec && i < count; ++i) {
    float* const row = rows.data() + i * row_size;
    const auto norm = detail::norm(row, row_size).value;
    if (norm > static_cast<double>(max_norm))
      detail::rescale_row(row, row, max_norm, static_cast<float>(norm), row_size);
  }
}

DISTRIB_DECL void clip_rows_gradient(std::span<const float> rows, std::size_t row_size, float max_norm,
                                     std::span<float> gradients, std::error_code& ec) {
  ec.clear();
  const std::size_t count = detail::count_rows(rows.size(), row_size, ec);
  if (gradients.size() != rows.size()) ec = ps_errc::shape_mismatch;
  if (!(max_norm > 0)) ec = ps_errc::not_positive;
  for (std::size_t i = 0; !ec && i < count; ++i) {
    const float* const row = rows.data() + i * row_size;
    const auto norm = detail::norm(row, row_size);
    if (norm.value > static_cast<double>(max_norm))
      detail::clip_gradient(gradients.data() + i * row_size, row, norm, max_norm, row_size);
  }
}

}  // namespace v0
}  // namespace distrib
