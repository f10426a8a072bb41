// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/detail/half_arm.hpp>

#include <bit>
#include <cassert>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

// Numbers of 16 bits: IEEE 754 binary16 (TensorFlow's DT_HALF) and bfloat16 (DT_BFLOAT16), which is the upper half of a
// float32. Each is stored as its bits in a std::uint16_t. Rounding is to nearest, ties to even. NaN stays NaN, and
// rounding makes it a quiet NaN. Uses only integers and instructions that ignore compiler flags: the same bits on every
// machine.

namespace distrib {
inline namespace v0 {

namespace detail {

[[nodiscard]] constexpr auto to_float16(float value) noexcept -> std::uint16_t {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const std::uint32_t sign = bits >> 16 & 0x8000U;
  const std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
  // infinity from 2^16 on; values below that round up to it get there by the arithmetic below
  std::uint32_t half = 0x7C00U;
  if (magnitude > 0x7F80'0000U) {
    half |= 0x200U | (magnitude >> 13 & 0x3FFU);
  } else if (magnitude < 0x3880'0000U) {  // below 2^-14 the results are multiples of 2^-24
    const std::uint32_t exponent = magnitude >> 23;
    const std::uint32_t mantissa = (magnitude & 0x7F'FFFFU) | 0x80'0000U;
    const std::uint32_t shift = 126 - exponent;
    half = 0;
    if (shift <= 24) half = (mantissa + (1U << (shift - 1)) - 1 + (mantissa >> shift & 1U)) >> shift;
  } else if (magnitude < 0x4780'0000U) {
    half = (magnitude - 0x3800'0000U + 0xFFFU + (magnitude >> 13 & 1U)) >> 13;
  }
  return static_cast<std::uint16_t>(sign | half);
}

[[nodiscard]] constexpr auto from_float16(std::uint16_t half) noexcept -> float {
  const std::uint32_t sign = (half & 0x8000U) << 16;
  const std::uint32_t exponent = half >> 10 & 0x1FU;
  const std::uint32_t mantissa = half & 0x3FFU;
  std::uint32_t magnitude = (exponent + 112) << 23 | mantissa << 13;
  if (exponent == 0x1FU) {
    magnitude = 0x7F80'0000U | mantissa << 13 | (mantissa != 0 ? 0x40'0000U : 0U);
  } else if (exponent == 0) {
    const auto shift = static_cast<std::uint32_t>(std::countl_zero(mantissa)) - 21;
    magnitude = mantissa == 0 ? 0U : (113 - shift) << 23 | (mantissa << shift & 0x3FFU) << 13;
  }
  return std::bit_cast<float>(sign | magnitude);
}

[[nodiscard]] constexpr auto to_bfloat16(float value) noexcept -> std::uint16_t {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  if ((bits & 0x7FFF'FFFFU) > 0x7F80'0000U) return static_cast<std::uint16_t>(bits >> 16 | 0x40U);
  return static_cast<std::uint16_t>((bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16);
}

[[nodiscard]] constexpr auto from_bfloat16(std::uint16_t half) noexcept -> float {
  return std::bit_cast<float>(static_cast<std::uint32_t>(half) << 16);
}

// One conversion: `one` converts one number, `eight` eight numbers if the machine has the instructions.

struct ToFloat16 {
  using From = float;
  using To = std::uint16_t;
  static constexpr auto one(From value) noexcept -> To { return to_float16(value); }
#if defined(__x86_64__)
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static void eight(const From* from, To* to) noexcept {
    float __attribute__((vector_size(32))) values;
    std::memcpy(&values, from, sizeof values);
    // 0: round to nearest, whatever rounding mode the program has set
    const auto halves = __builtin_ia32_vcvtps2ph256(values, 0);
    std::memcpy(to, &halves, sizeof halves);
  }
#elif defined(__aarch64__)
  static void eight(const From* from, To* to) noexcept { arm_to_float16(from, to); }
#endif
};

struct FromFloat16 {
  using From = std::uint16_t;
  using To = float;
  static constexpr auto one(From half) noexcept -> To { return from_float16(half); }
#if defined(__x86_64__)
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static void eight(const From* from, To* to) noexcept {
    short __attribute__((vector_size(16))) halves;
    std::memcpy(&halves, from, sizeof halves);
    const auto values = __builtin_ia32_vcvtph2ps256(halves);
    std::memcpy(to, &values, sizeof values);
  }
#elif defined(__aarch64__)
  static void eight(const From* from, To* to) noexcept { arm_from_float16(from, to); }
#endif
};

struct ToBfloat16 {
  using From = float;
  using To = std::uint16_t;
  static constexpr auto one(From value) noexcept -> To { return to_bfloat16(value); }
#if defined(__x86_64__)
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static void eight(const From* from, To* to) noexcept {
    using Words = std::uint32_t __attribute__((vector_size(32)));
    using SignedWords = std::int32_t __attribute__((vector_size(32)));
    using Halves = std::uint16_t __attribute__((vector_size(16)));
    Words bits;
    std::memcpy(&bits, from, sizeof bits);
    const auto is_nan = reinterpret_cast<Words>(reinterpret_cast<SignedWords>(bits & 0x7FFF'FFFFU) > 0x7F80'0000);
    const Words rounded = (bits + 0x7FFFU + (bits >> 16 & 1U)) >> 16;
    const Words words = (is_nan & (bits >> 16 | 0x40U)) | (~is_nan & rounded);
    const Halves halves = __builtin_convertvector(words, Halves);
    std::memcpy(to, &halves, sizeof halves);
  }
#elif defined(__aarch64__)
  static void eight(const From* from, To* to) noexcept { arm_to_bfloat16(from, to); }
#endif
};

struct FromBfloat16 {
  using From = std::uint16_t;
  using To = float;
  static constexpr auto one(From half) noexcept -> To { return from_bfloat16(half); }
#if defined(__x86_64__)
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static void eight(const From* from, To* to) noexcept {
    using Words = std::uint32_t __attribute__((vector_size(32)));
    using Halves = std::uint16_t __attribute__((vector_size(16)));
    Halves halves;
    std::memcpy(&halves, from, sizeof halves);
    const Words words = __builtin_convertvector(halves, Words) << 16;
    std::memcpy(to, &words, sizeof words);
  }
#elif defined(__aarch64__)
  static void eight(const From* from, To* to) noexcept { arm_from_bfloat16(from, to); }
#endif
};

#if defined(__x86_64__) || defined(__aarch64__)
template <class Conversion>
#if defined(__x86_64__)
[[gnu::target("avx2,f16c")]]
#endif
void convert_by_eights(const typename Conversion::From* from, typename Conversion::To* to, std::size_t size) noexcept {
  for (; size >= 8; size -= 8, from += 8, to += 8) Conversion::eight(from, to);
  if (size == 0) return;
  typename Conversion::From last[8] = {};
  typename Conversion::To converted[8];
  std::memcpy(last, from, size * sizeof *from);
  Conversion::eight(last, converted);
  std::memcpy(to, converted, size * sizeof *to);
}
#endif

/// True if eight numbers at a time give the bits of one by one: the processor has the instructions (x86-64), and the
/// program has not changed how they round (aarch64; x86-64 has instructions that ignore it).
[[nodiscard]] inline auto has_half_instructions() noexcept -> bool {
#if defined(__x86_64__)
  static const bool has = __builtin_cpu_supports("avx2") && __builtin_cpu_supports("f16c");
  return has;
#elif defined(__aarch64__)
  return arm_converts_as_ieee();
#else
  return false;
#endif
}

/// Converts `size` numbers: eight at a time if the machine can, otherwise one by one. Both give the same bits.
template <class Conversion>
void convert(const typename Conversion::From* from, typename Conversion::To* to, std::size_t size,
             [[maybe_unused]] bool by_eights = has_half_instructions()) noexcept {
#if defined(__x86_64__) || defined(__aarch64__)
  if (by_eights) return convert_by_eights<Conversion>(from, to, size);
#endif
  for (std::size_t i = 0; i < size; ++i) to[i] = Conversion::one(from[i]);
}

}  // namespace detail

// Both spans must have the same size (programmer error otherwise) and must not overlap.

/// Rounds to IEEE binary16: magnitudes from 65520 on become infinite, those below 2^-14 a multiple of 2^-24.
inline void to_float16(std::span<const float> from, std::span<std::uint16_t> to) noexcept {
  assert(from.size() == to.size());
  detail::convert<detail::ToFloat16>(from.data(), to.data(), from.size());
}

/// Converts IEEE binary16 to float, exactly. A NaN becomes quiet.
inline void from_float16(std::span<const std::uint16_t> from, std::span<float> to) noexcept {
  assert(from.size() == to.size());
  detail::convert<detail::FromFloat16>(from.data(), to.data(), from.size());
}

/// Rounds to bfloat16: 8 significant bits, the exponents of float32. Magnitudes that round beyond the largest bfloat16
/// become infinite.
inline void to_bfloat16(std::span<const float> from, std::span<std::uint16_t> to) noexcept {
  assert(from.size() == to.size());
  detail::convert<detail::ToBfloat16>(from.data(), to.data(), from.size());
}

/// Converts bfloat16 to float, exactly. A NaN keeps all its bits.
inline void from_bfloat16(std::span<const std::uint16_t> from, std::span<float> to) noexcept {
  assert(from.size() == to.size());
  detail::convert<detail::FromBfloat16>(from.data(), to.data(), from.size());
}

}  // namespace v0
}  // namespace distrib
