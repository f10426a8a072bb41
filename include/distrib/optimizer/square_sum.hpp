// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/rounded.hpp>

#include <cstddef>
#include <span>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Two doubles in one SSE or NEON register.
using Double2 = double __attribute__((vector_size(16)));
}  // namespace detail

/// Returns the sum of the squares, computed in double; each square is exact. Eight sums are added up, of the elements
/// with equal index modulo 8; then (((0 + 2) + (4 + 6)), ((1 + 3) + (5 + 7))) pairwise; then the elements behind the
/// last whole eight, in order. So the same elements give the same bits on every machine.
[[nodiscard]] inline auto square_sum(std::span<const float> values) noexcept -> double {
  using detail::Rounded;
  using Pair = Rounded<detail::Double2>;
  Pair sums[4] = {};
  std::size_t at = 0;
  for (; values.size() - at >= 8; at += 8) {
    for (std::size_t pair = 0; pair < 4; ++pair) {
      const float* const two = values.data() + at + 2 * pair;
      const Pair wide{detail::Double2{static_cast<double>(two[0]), static_cast<double>(two[1])}};
      sums[pair] = sums[pair] + wide * wide;
    }
  }
  const Pair both = (sums[0] + sums[1]) + (sums[2] + sums[3]);
  Rounded<double> sum = Rounded<double>{both.value[0]} + Rounded<double>{both.value[1]};
  for (; at < values.size(); ++at) {
    const Rounded<double> wide{static_cast<double>(values[at])};
    sum = sum + wide * wide;
  }
  return sum.value;
}

}  // namespace v0
}  // namespace distrib
