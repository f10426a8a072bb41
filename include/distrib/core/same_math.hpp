// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/rounded.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>

// Exponential and logarithm with the same bits on every machine.
//
// The functions of libm differ between its versions and between processors: a program then gives other results on
// another machine. These functions are fixed sequences of IEEE 754 operations on doubles, each rounded by itself
// (core/rounded.hpp): no table, no fused multiply-add, no function of libm. So the bits depend neither on the processor
// nor on the compiler and its flags, except as core/rounded.hpp says about linking with -ffast-math.
//
// Each result differs from the exact value by at most 0.501 units in the last place of a float, so it is nearly always
// the nearest float. NaN stays NaN. All functions are pure; any thread may call them. Trap: a unit that is compiled with
// -ffast-math promises that no function takes or returns NaN or an infinite number; of those it computes garbage.

#if defined(DISTRIB_SAME_BITS) && defined(__FAST_MATH__)
#error \
    "distrib: a unit that links to distrib::same_bits is compiled with -ffast-math: its results would depend on the compiler. Compile it without"
#endif

#if defined(__clang__)
#pragma float_control(push)
#pragma float_control(precise, on)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif

namespace distrib {
inline namespace v0 {

namespace detail {

using RoundedDouble = Rounded<double>;

/// Returns coefficients[0] x^(size - 1) + ... + coefficients[size - 1], by Horner's rule.
template <std::size_t size>
[[nodiscard, gnu::always_inline]] inline auto polynomial(const double (&coefficients)[size], RoundedDouble x) noexcept
    -> RoundedDouble {
  RoundedDouble sum{coefficients[0]};
  for (std::size_t i = 1; i < size; ++i) sum = sum * x + RoundedDouble{coefficients[i]};
  return sum;
}

/// Returns e^x for |x| <= 700, with a relative error below 2^-33.
[[nodiscard, gnu::always_inline]] inline auto exponential(RoundedDouble x) noexcept -> RoundedDouble {
  // x = n log(2) + r with an integer n and |r| < 0.35: the sum with `shift` rounds to an integer.
  constexpr RoundedDouble shift{0x1.8p52};
  const RoundedDouble shifted = x * RoundedDouble{0x1.71547652b82fep0} + shift;
  const RoundedDouble r = x - (shifted - shift) * RoundedDouble{0x1.62e42fefa39efp-1};
  // e^r: the Taylor series to r^9.
  constexpr double taylor[] = {0x1.71de3a556c734p-19,
                               0x1.a01a01a01a01ap-16,
                               0x1.a01a01a01a01ap-13,
                               0x1.6c16c16c16c17p-10,
                               0x1.1111111111111p-7,
                               0x1.5555555555555p-5,
                               0x1.5555555555555p-3,
                               0.5,
                               1.0,
                               1.0};
  // 2^n: the low bits of `shifted` are n.
  const auto power = (std::bit_cast<std::uint64_t>(shifted.value) << 52) + (std::uint64_t{1023} << 52);
  return polynomial(taylor, r) * RoundedDouble{std::bit_cast<double>(power)};
}

/// Returns the logarithm of a positive normal number, with a relative error below 2^-45.
[[nodiscard, gnu::always_inline]] inline auto logarithm(RoundedDouble x) noexcept -> RoundedDouble {
  // x = 2^e m with m from sqrt(1/2) to sqrt(2).
  const auto bits = std::bit_cast<std::uint64_t>(x.value);
  const auto e = static_cast<std::int64_t>(bits - 0x3fe6'a09e'667f'3bcdULL) >> 52;
  const RoundedDouble m{std::bit_cast<double>(bits - (static_cast<std::uint64_t>(e) << 52))};
  // log(m) = 2 (s + s^3/3 + s^5/5 + ...) with s = (m - 1) / (m + 1), |s| < 0.172: to s^17.
  const RoundedDouble one{1.0};
  const RoundedDouble s = (m - one) / (m + one);
  constexpr double series[] = {0x1.e1e1e1e1e1e1ep-5, 0x1.1111111111111p-4, 0x1.3b13b13b13b14p-4,
                               0x1.745d1745d1746p-4, 0x1.c71c71c71c71cp-4, 0x1.2492492492492p-3,
                               0x1.999999999999ap-3, 0x1.5555555555555p-2, 1.0};
  const RoundedDouble log_m = RoundedDouble{2.0} * s * polynomial(series, s * s);
  return RoundedDouble{static_cast<double>(e)} * RoundedDouble{0x1.62e42fefa39efp-1} + log_m;
}

/// Returns the nearest float.
[[nodiscard, gnu::always_inline]] inline auto nearest_float(RoundedDouble x) noexcept -> float {
  return opaque(static_cast<float>(x.value));
}

// The bits of a float decide about special values, because -ffast-math lets a compiler remove comparisons with NaN.
[[nodiscard]] constexpr auto magnitude_bits(float x) noexcept -> std::uint32_t {
  return std::bit_cast<std::uint32_t>(x) & 0x7fff'ffffU;
}
[[nodiscard]] constexpr auto has_sign(float x) noexcept -> bool { return std::bit_cast<std::uint32_t>(x) >> 31 != 0; }
inline constexpr std::uint32_t infinity_bits = 0x7f80'0000U;
[[nodiscard]] constexpr auto infinity(bool negative = false) noexcept -> float {
  return std::bit_cast<float>(infinity_bits | (negative ? 0x8000'0000U : 0U));
}
[[nodiscard]] constexpr auto not_a_number() noexcept -> float { return std::bit_cast<float>(0x7fc0'0000U); }

}  // namespace detail

/// Returns e^x. Infinite from 88.73 on; 0 below -103.98; denormal numbers between them and -87.34.
[[nodiscard]] inline auto same_exp(float x) noexcept -> float {
  const std::uint32_t magnitude = detail::magnitude_bits(x);
  if (magnitude > detail::infinity_bits) return x;
  if (magnitude > std::bit_cast<std::uint32_t>(104.0F)) return detail::has_sign(x) ? 0.0F : detail::infinity();
  return detail::nearest_float(detail::exponential({static_cast<double>(x)}));
}

/// Returns the natural logarithm of x: minus infinity of 0, NaN of negative numbers.
[[nodiscard]] inline auto same_log(float x) noexcept -> float {
  const std::uint32_t magnitude = detail::magnitude_bits(x);
  if (magnitude > detail::infinity_bits) return x;
  if (magnitude == 0) return detail::infinity(true);
  if (detail::has_sign(x)) return detail::not_a_number();
  if (magnitude == detail::infinity_bits) return x;
  return detail::nearest_float(detail::logarithm({static_cast<double>(x)}));
}

/// Returns log(1 + x), exact also where 1 + x is rounded: minus infinity of -1, NaN below.
[[nodiscard]] inline auto same_log1p(float x) noexcept -> float {
  const std::uint32_t magnitude = detail::magnitude_bits(x);
  constexpr std::uint32_t one_bits = 0x3f80'0000U;
  if (magnitude > detail::infinity_bits) return x;
  if (magnitude < std::bit_cast<std::uint32_t>(0x1p-26F)) return x;  // x^2 / 2 is less than half of the last place
  if (detail::has_sign(x) && magnitude >= one_bits)
    return magnitude == one_bits ? detail::infinity(true) : detail::not_a_number();
  if (magnitude == detail::infinity_bits) return x;
  // `sum` + `rest` is exactly 1 + x, and log(sum + rest) is log(sum) + rest / sum.
  const detail::RoundedDouble exact{static_cast<double>(x)}, one{1.0};
  const detail::RoundedDouble sum = one + exact;
  const detail::RoundedDouble rest = magnitude < one_bits ? exact - (sum - one) : one - (sum - exact);
  return detail::nearest_float(detail::logarithm(sum) + rest / sum);
}

/// Returns the hyperbolic tangent of x.
[[nodiscard]] inline auto same_tanh(float x) noexcept -> float {
  const std::uint32_t magnitude = detail::magnitude_bits(x);
  if (magnitude > detail::infinity_bits) return x;
  if (magnitude < std::bit_cast<std::uint32_t>(0x1p-13F)) return x;  // x^3 / 3 is less than half of the last place
  const std::uint32_t sign = std::bit_cast<std::uint32_t>(x) & 0x8000'0000U;
  float positive = 1.0F;
  if (magnitude < std::bit_cast<std::uint32_t>(10.0F)) {
    const double twice = 2.0 * static_cast<double>(std::bit_cast<float>(magnitude));
    const detail::RoundedDouble one{1.0}, power = detail::exponential({twice});
    positive = detail::nearest_float((power - one) / (power + one));
  }
  return std::bit_cast<float>(std::bit_cast<std::uint32_t>(positive) | sign);
}

/// Returns 1 / (1 + e^-x), the probability whose log-odds are x.
[[nodiscard]] inline auto same_sigmoid(float x) noexcept -> float {
  const std::uint32_t magnitude = detail::magnitude_bits(x);
  if (magnitude > detail::infinity_bits) return x;
  if (magnitude > std::bit_cast<std::uint32_t>(104.0F)) return detail::has_sign(x) ? 0.0F : 1.0F;
  const detail::RoundedDouble one{1.0};
  return detail::nearest_float(one / (one + detail::exponential({-static_cast<double>(x)})));
}

}  // namespace v0
}  // namespace distrib

#if defined(__clang__)
#pragma float_control(pop)
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif
