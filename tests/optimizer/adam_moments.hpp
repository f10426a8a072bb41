// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/detail/factors.hpp>

#include "optimizer/reference.hpp"

#include <cstdint>

namespace reference {

/// Alpha at learning rate 0.1, beta1 0.8 and beta2 0.95.
inline auto adam_alpha(std::uint64_t count) -> float {
  return distrib::detail::adam_alpha(0.1F, distrib::detail::power(0.8F, count), distrib::detail::power(0.95F, count));
}

/// Updates Adam's moments with these hyper-parameters; returns alpha.
inline auto adam_moments(std::uint64_t count, float g, float& m, float& v) -> float {
  m = plus(m, times(minus(g, m), minus(1.0F, 0.8F)));
  v = plus(v, times(minus(times(g, g), v), minus(1.0F, 0.95F)));
  return adam_alpha(count);
}

/// The factors for the kernels of Adam and the updaters derived from it, with these hyper-parameters and epsilon 0.01.
/// `more`: further factors.
template <class Factors>
auto adam_factors(std::uint64_t count, auto... more) -> Factors {
  return {adam_alpha(count), minus(1.0F, 0.8F), minus(1.0F, 0.95F), 0.01F, more...};
}

}  // namespace reference
