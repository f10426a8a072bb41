// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/rounded.hpp>

#include <bit>
#include <cstdint>

#if defined(__clang__)
#pragma float_control(push)
#pragma clang fp contract(off)
#elif defined(__GNUC__)
#pragma GCC push_options
#pragma GCC optimize("fp-contract=off")
#endif

namespace distrib {
inline namespace v0 {
namespace detail {

/// Returns a * b + c, rounded once, on machines with and without instructions for it, and whatever the compiler flags
/// are. (std::fma may be removed or changed by -ffast-math, and is slow in libm for machines without.)
///
/// The product of two floats is exact in double. The sum is rounded to odd, so that rounding it once more, to float,
/// gives the float that is nearest to the exact sum (Boldo and Melquiond, "Emulation of FMA and correctly rounded
/// sums", IEEE Transactions on Computers 57, 2008).
[[nodiscard, gnu::always_inline]] inline auto fused_multiply_add(float a, float b, float c) noexcept -> float {
  using Double = Rounded<double>;
  const Double product = Double{static_cast<double>(a)} * Double{static_cast<double>(b)};
  const Double addend{static_cast<double>(c)};
  const Double sum = product + addend;
  // What the sum lacks, exactly (Knuth's two-sum).
  const Double of_addend = sum - product;
  const Double of_product = sum - of_addend;
  const Double error = (product - of_product) + (addend - of_addend);
  // Rounded to odd: if the sum is not exact and its last bit is 0, the neighbour on the side of the exact sum. With
  // integers, because -ffast-math lets a compiler assume that there is no NaN. Infinity and NaN stay.
  const auto bits = std::bit_cast<std::uint64_t>(sum.value);
  const auto error_bits = std::bit_cast<std::uint64_t>(error.value);
  constexpr std::uint64_t exponent = 0x7ff0'0000'0000'0000;
  const bool moves = (error_bits << 1) != 0 && (bits & 1) == 0 && (bits & exponent) != exponent;
  const std::uint64_t step = moves ? ((error_bits ^ bits) >> 63 == 0 ? std::uint64_t{1} : ~std::uint64_t{0}) : 0;
  return opaque(static_cast<float>(std::bit_cast<double>(bits + step)));
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#if defined(__clang__)
#pragma float_control(pop)
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif
