// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/job/clip_gradients.hpp>

#include <distrib/core/rounded.hpp>
#include <distrib/optimizer/square_sum.hpp>
#include <distrib/train/job/detail/for_each_gradient.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto clip_gradients(const Job& job, RuntimeGradients& gradients, const std::vector<bool>& left_out)
    -> float {
  const auto for_each = [&](auto&& visit) {
    detail::for_each_gradient(job, gradients, [&](std::size_t number, std::span<float> of_one) {
      if (left_out.empty() || !left_out[number]) visit(of_one);
    });
  };
  if (const ClipByValue* by_value = job.gradient_clipping.by_value()) {
    const float most = by_value->max_value;
    for_each([most](std::span<float> of_one) {
      for (float& g : of_one) g = g > most ? most : g < -most ? -most : g;
    });
  }
  const ClipByNorm* by_norm = job.gradient_clipping.by_norm();
  if (by_norm == nullptr) return std::numeric_limits<float>::quiet_NaN();

  using Real = detail::Rounded<double>;
  Real sum{0.0};
  // Summed row by row, not over a table as a whole: rows that an evaluation asked for, whose gradients are zero, must
  // not change the sum.
  for_each([&sum](std::span<float> of_one) { sum = sum + Real{square_sum(of_one)}; });
  const Real norm = sqrt(sum);
  const bool is_finite = (std::bit_cast<std::uint64_t>(norm.value) >> 52) < 0x7ff;
  const Real scale = Real{static_cast<double>(by_norm->max_norm)} / (norm + Real{1e-6});
  if (is_finite && scale.value < 1.0) {
    const auto factor = static_cast<float>(scale.value);
    for_each([factor](std::span<float> of_one) {
      for (float& g : of_one) g *= factor;
    });
  }
  return static_cast<float>(norm.value);
}

}  // namespace v0
}  // namespace distrib
