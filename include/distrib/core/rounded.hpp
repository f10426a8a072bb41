// SPDX-License-Identifier: Apache-2.0
#pragma once

// Arithmetic with the same bits on every machine and under every compiler flag.
//
// Contraction is switched off here, but that is not enough: clang with -ffast-math and g++ with -march=x86-64-v4 still
// fuse a product and a sum, -ffast-math reorders sums, and -mrecip replaces division and square root by estimates. So
// each result passes through an empty asm that hides how it was computed, and division and square root are written as
// machine instructions. Trap: no header can prevent that a program *linked* with -ffast-math sets flush-to-zero when it
// starts (crtfastmath.o); then denormal numbers become 0. Link without it.

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

/// Four floats in one SSE or NEON register.
using Float4 = float __attribute__((vector_size(16)));

/// Returns `value` unchanged. The optimizer cannot know which operation made it.
template <class T> [[nodiscard, gnu::always_inline]] inline auto opaque(T value) noexcept -> T {
#if defined(__x86_64__)
  asm("" : "+x"(value));
#elif defined(__aarch64__)
  asm("" : "+w"(value));
#else
  asm("" : "+m"(value));
#endif
  return value;
}

[[nodiscard, gnu::always_inline]] inline auto divide(Float4 a, Float4 b) noexcept -> Float4 {
#if defined(__AVX__)
  asm("{vdivps %1, %0, %0|vdivps %0, %0, %1}" : "+x"(a) : "x"(b));
#elif defined(__x86_64__)
  asm("{divps %1, %0|divps %0, %1}" : "+x"(a) : "x"(b));
#elif defined(__aarch64__)
  asm("fdiv %0.4s, %0.4s, %1.4s" : "+w"(a) : "w"(b));
#else
  a = a / opaque(b);
#endif
  return a;
}

[[nodiscard, gnu::always_inline]] inline auto divide(double a, double b) noexcept -> double {
#if defined(__AVX__)
  asm("{vdivsd %1, %0, %0|vdivsd %0, %0, %1}" : "+x"(a) : "x"(b));
#elif defined(__x86_64__)
  asm("{divsd %1, %0|divsd %0, %1}" : "+x"(a) : "x"(b));
#elif defined(__aarch64__)
  asm("fdiv %d0, %d0, %d1" : "+w"(a) : "w"(b));
#else
  a = a / opaque(b);
#endif
  return a;
}

[[nodiscard, gnu::always_inline]] inline auto square_root(Float4 a) noexcept -> Float4 {
#if defined(__AVX__)
  asm("{vsqrtps %0, %0|vsqrtps %0, %0}" : "+x"(a));
#elif defined(__x86_64__)
  asm("{sqrtps %0, %0|sqrtps %0, %0}" : "+x"(a));
#elif defined(__aarch64__)
  asm("fsqrt %0.4s, %0.4s" : "+w"(a));
#else
  for (int i = 0; i < 4; ++i) a[i] = __builtin_sqrtf(a[i]);
#endif
  return a;
}

[[nodiscard, gnu::always_inline]] inline auto square_root(double a) noexcept -> double {
#if defined(__AVX__)
  asm("{vsqrtsd %0, %0, %0|vsqrtsd %0, %0, %0}" : "+x"(a));
#elif defined(__x86_64__)
  asm("{sqrtsd %0, %0|sqrtsd %0, %0}" : "+x"(a));
#elif defined(__aarch64__)
  asm("fsqrt %d0, %d0" : "+w"(a));
#else
  a = __builtin_sqrt(a);
#endif
  return a;
}

/// A double, or four floats at once. Each operation is rounded separately, in the order in which it is written:
/// `a * b + c` is rounded twice, whatever the compiler flags are.
template <class T> struct Rounded {
  T value;

  [[nodiscard, gnu::always_inline]] friend auto operator+(Rounded a, Rounded b) noexcept -> Rounded {
    return {opaque(a.value + b.value)};
  }
  [[nodiscard, gnu::always_inline]] friend auto operator-(Rounded a, Rounded b) noexcept -> Rounded {
    return {opaque(a.value - b.value)};
  }
  [[nodiscard, gnu::always_inline]] friend auto operator*(Rounded a, Rounded b) noexcept -> Rounded {
    return {opaque(a.value * b.value)};
  }
  [[nodiscard, gnu::always_inline]] friend auto operator/(Rounded a, Rounded b) noexcept -> Rounded {
    return {divide(a.value, b.value)};
  }
  [[nodiscard, gnu::always_inline]] friend auto sqrt(Rounded a) noexcept -> Rounded { return {square_root(a.value)}; }
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#if defined(__clang__)
#pragma float_control(pop)
#elif defined(__GNUC__)
#pragma GCC pop_options
#endif
