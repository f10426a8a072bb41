// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/rounded.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

// The numbers that the kernel of an update needs, which are the same for all elements: computed once for a block or a
// batch of rows. A kernel has each of them as a register of floats.
namespace distrib {
inline namespace v0 {
namespace detail {

template <class T = float> struct SgdFactors {
  static constexpr std::size_t slots = 0;
  T rate;
};

template <class T = float> struct MomentumFactors {
  static constexpr std::size_t slots = 1;
  T rate, momentum;
};

template <class T = float> struct NesterovFactors {
  static constexpr std::size_t slots = 1;
  T rate, momentum;
};

template <class T = float> struct DampenedMomentumFactors {
  static constexpr std::size_t slots = 1;
  T rate, momentum, share, weight_decay;  // share: of the gradient that is added to the accumulator
};

template <class T = float> struct AdagradFactors {
  static constexpr std::size_t slots = 1;
  T rate;
};

template <class T = float> struct RMSPropFactors {
  static constexpr std::size_t slots = 2;
  T rate, blend, momentum, epsilon;  // blend: weight of the new value in a mean, 1 - decay; here and below
};

template <class T = float> struct CenteredRMSPropFactors {
  static constexpr std::size_t slots = 3;
  T rate, blend, momentum, epsilon;
};

template <class T = float> struct AdamFactors {
  static constexpr std::size_t slots = 2;
  T alpha, blend1, blend2, epsilon;  // alpha: the learning rate, corrected for the powers of both betas
};

template <class T = float> struct AMSGradFactors {
  static constexpr std::size_t slots = 3;
  T alpha, blend1, blend2, epsilon;
};

template <class T = float> struct AdamWFactors {
  static constexpr std::size_t slots = 2;
  T alpha, blend1, blend2, epsilon, decay;  // decay: weight_decay * learning rate of this update
};

template <class T = float> struct TorchAdamFactors {
  static constexpr std::size_t slots = 2;
  // root: of the correction of v; keep: share of the weights that a decoupled weight decay leaves
  T step_size, blend1, keep2, blend2, root, epsilon, weight_decay, keep;
};

template <class T = float> struct TorchAdagradFactors {
  static constexpr std::size_t slots = 1;
  T rate, weight_decay, epsilon;
};

template <class T = float> struct TorchRMSPropFactors {
  static constexpr std::size_t slots = 2;
  T rate, keep, blend, epsilon, weight_decay, momentum;
};

template <class T = float> struct FtrlFactors {
  static constexpr std::size_t slots = 2;
  T rate, power, l1, l2, shrinkage;  // power: -learning_rate_power, 0.5 is a root; l2 and shrinkage are doubled
};

/// The same update after weight_decay * w was added to the gradient.
template <template <class> class Rule> struct Decaying {
  template <class T> struct Factors : Rule<T> {
    using Undecayed = Rule<T>;
    T weight_decay;
  };
};

/// Calls `f` with the factors of an update, with a weight decay unless that is 0.
template <template <class> class Rule> void with_decay(const Rule<float>& rule, float weight_decay, auto&& f) {
  if (weight_decay == 0.0F) f(rule);
  else f(typename Decaying<Rule>::template Factors<float>{rule, weight_decay});
}

/// Returns the weight of a new value in a mean that keeps `decay` of its old value.
[[nodiscard]] inline auto blend(float decay) noexcept -> float { return opaque(1.0F - decay); }
[[nodiscard]] inline auto blend(double decay) noexcept -> float { return static_cast<float>(opaque(1.0 - decay)); }

/// Returns the alpha of `AdamFactors`: rate * sqrt(1 - beta2^count) / (1 - beta1^count), in double, rounded once at the
/// end.
[[nodiscard]] inline auto adam_alpha(float learning_rate, double beta1_power, double beta2_power) noexcept -> float {
  const Rounded<double> one{1.0};
  const Rounded<double> rate{static_cast<double>(learning_rate)};
  const Rounded<double> root = sqrt(one - Rounded<double>{beta2_power});
  return static_cast<float>((rate * root / (one - Rounded<double>{beta1_power})).value);
}

/// Returns base^exponent, by repeated multiplication and squaring in double.
[[nodiscard]] inline auto power(double base, std::uint64_t exponent) noexcept -> double {
  Rounded<double> result{1.0};
  for (Rounded<double> square{base}; exponent != 0; exponent /= 2) {
    if (exponent % 2 != 0) result = result * square;
    square = square * square;
  }
  return result.value;
}
[[nodiscard]] inline auto power(float base, std::uint64_t exponent) noexcept -> double {
  return power(static_cast<double>(base), exponent);
}

/// Returns base^exponent for base > 0 and exponent >= 0, with a relative error of about 1e-12. The library has its own
/// function because libm differs between machines. A base that is not positive and finite is returned as it is, unless
/// the exponent is 0.
[[nodiscard]] inline auto power(float base, float exponent) noexcept -> double {
  using Real = Rounded<double>;
  if (exponent == 0.0F) return 1.0;
  const double wide = static_cast<double>(base);
  const auto bits = std::bit_cast<std::uint64_t>(wide);  // as a double every float but 0 is a normal number
  if (!(base > 0.0F) || bits >> 52 == 0x7ff) return wide;

  // base = m * 2^e with m in [1, 2). log2(m) = 2 / ln 2 * atanh((m - 1) / (m + 1)); (m - 1) / (m + 1) is below 1/3, so
  // the rest of the series is below 3^-40.
  const auto e = static_cast<double>(static_cast<int>(bits >> 52) - 1023);
  const Real m{std::bit_cast<double>((bits & 0xfffffffffffffU) | 0x3ff0000000000000U)};
  const Real one{1.0};
  const Real s = (m - one) / (m + one);
  Real series{0.0};
  for (int term = 39; term >= 1; term -= 2) series = series * s * s + one / Real{static_cast<double>(term)};
  const Real log2 = Real{e} + Real{2.885390081777926815} * s * series;

  const Real y = Real{static_cast<double>(exponent)} * log2;
  if (y.value > 1023.0) return static_cast<double>(__builtin_inff());
  if (y.value < -1022.0) return 0.0;
  const int whole = static_cast<int>(y.value < 0.0 ? y.value - 0.5 : y.value + 0.5);
  const Real rest = (y - Real{static_cast<double>(whole)}) * Real{0.693147180559945309};  // at most 0.35
  Real result{1.0};
  for (int term = 14; term >= 1; --term) result = one + result * rest / Real{static_cast<double>(term)};
  return (result * Real{std::bit_cast<double>(static_cast<std::uint64_t>(whole + 1023) << 52)}).value;
}

/// Returns first + (last - first) * elapsed / steps, for elapsed < steps.
[[nodiscard]] inline auto interpolate(float first, float last, std::uint64_t elapsed, std::uint64_t steps) noexcept
    -> float {
  const Rounded<double> start{static_cast<double>(first)};
  const Rounded<double> way = Rounded<double>{static_cast<double>(last)} - start;
  const Rounded<double> gone{static_cast<double>(elapsed)};
  return static_cast<float>((start + way * gone / Rounded<double>{static_cast<double>(steps)}).value);
}

/// Returns (1 + cos(pi * x)) / 2 for x in [0, 1]: 1 at 0, 0 at 1. Relative error below 1e-15, also near 1, because the
/// square of a sine or cosine of at most pi / 4 is computed, by its power series. The library has its own function
/// because libm differs between machines.
[[nodiscard]] inline auto half_cosine(double x) noexcept -> double {
  using Real = Rounded<double>;
  const Real half_pi{1.57079632679489662};
  const bool is_cosine = x <= 0.5;  // otherwise the same function is sin(pi / 2 * (1 - x))^2; 1 - x is exact
  const Real angle = half_pi * (is_cosine ? Real{x} : Real{1.0} - Real{x});
  const Real square = angle * angle;
  // Terms beyond angle^18 / 18! are below 3e-21.
  const Real one{1.0};
  Real series{1.0};
  for (int term = is_cosine ? 18 : 19; term >= 2; term -= 2)
    series = one - series * square / Real{static_cast<double>(term * (term - 1))};
  const Real root = is_cosine ? series : angle * series;
  return (root * root).value;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
