// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/rows/row_math.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void copy_row(float* to, const float* row, std::size_t size) noexcept {
  constexpr std::size_t line = 64 / sizeof(float);
  std::size_t at = 0;
  for (; size - at >= line; at += line) std::memcpy(to + at, row + at, line * sizeof(float));
  if (at < size) std::memcpy(to + at, row + at, (size - at) * sizeof(float));
}

DISTRIB_DECL void rescale_row(float* to, const float* row, float factor, float divisor, std::size_t size) noexcept {
  const Rounded<Float4> f = four(factor);
  const Rounded<Float4> d = four(divisor);
  for_each_four(to, row, size, [=](auto, auto r) __attribute__((always_inline)) { return r * f / d; });
}

DISTRIB_DECL auto dot(const float* a, const float* b, std::size_t size) noexcept -> Rounded<double> {
  const auto product = [=](std::size_t i) __attribute__((always_inline)) {
    return Rounded<double>{static_cast<double>(a[i])} * Rounded<double>{static_cast<double>(b[i])};
  };
  Rounded<double> even{0.0};
  Rounded<double> odd{0.0};
  std::size_t i = 0;
  for (; size - i >= 2; i += 2) {
    even = even + product(i);
    odd = odd + product(i + 1);
  }
  if (i < size) even = even + product(i);
  return even + odd;
}

DISTRIB_DECL void clip_gradient(float* gradient, const float* row, Rounded<double> n, float max_norm,
                                std::size_t size) noexcept {
  const Rounded<double> scale = Rounded<double>{static_cast<double>(max_norm)} / n;
  const Rounded<double> along = dot(row, gradient, size) / (n * n);
  for (std::size_t i = 0; i < size; ++i) {
    const Rounded<double> g{static_cast<double>(gradient[i])};
    const Rounded<double> r{static_cast<double>(row[i])};
    gradient[i] = static_cast<float>((scale * (g - r * along)).value);
  }
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
