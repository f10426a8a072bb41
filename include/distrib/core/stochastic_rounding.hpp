// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/float_codec.hpp>
#include <distrib/core/float_format.hpp>
#include <distrib/core/half.hpp>
#include <distrib/core/philox.hpp>

#include <bit>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <span>

// Rounds up or down at random. The nearer of the two results is the more likely, so the mean of many roundings is the
// number itself. Numbers that are updated in small steps and kept in 16 bits need this: rounded to nearest, a step of
// less than half a unit in the last place would be lost every time. Uses only integers: the same bits on every machine.

namespace distrib {
inline namespace v0 {

namespace detail {

#if defined(__x86_64__)
using Words8 = std::uint32_t __attribute__((vector_size(32)));
using SignedWords8 = std::int32_t __attribute__((vector_size(32)));
using Halves8 = std::uint16_t __attribute__((vector_size(16)));
#endif
#if defined(__x86_64__) || defined(__aarch64__)
using Longs2 = std::uint64_t __attribute__((vector_size(16)));
#endif
#if defined(__aarch64__)
/// Converts four and four; 16 bits of `random` are for each.
template <class Conversion>
void arm_round_eight(const float* from, Longs2 random, std::byte* to) noexcept {
  const auto [low, high] = arm_load_words(from);
  const auto [low_random, high_random] = arm_widened(reinterpret_cast<ArmHalves>(random));
  const ArmHalves halves = arm_narrowed(Conversion::four(low, low_random), Conversion::four(high, high_random));
  std::memcpy(to, &halves, sizeof halves);
}
#endif

// One random conversion: `one` converts one number with 16 bits of `random`, each equally likely; `eight` converts
// eight numbers if the machine has the instructions. A finite number stays finite, except for magnitudes from 2^16 on
// in float16.

struct ToBfloat16AtRandom {
  static constexpr auto one(float value, std::uint16_t random) noexcept -> std::uint16_t {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    if ((bits & 0x7F80'0000U) == 0x7F80'0000U) return to_bfloat16(value);
    const std::uint32_t rounded = (bits + random) >> 16;
    return static_cast<std::uint16_t>((rounded & 0x7FFFU) == 0x7F80U ? rounded - 1 : rounded);
  }
#if defined(__x86_64__)
  [[gnu::target("avx2"), gnu::always_inline]] static void eight(const float* from, Longs2 random,
                                                                std::byte* to) noexcept {
    Words8 bits;
    std::memcpy(&bits, from, sizeof bits);
    const auto is_nan = reinterpret_cast<Words8>(reinterpret_cast<SignedWords8>(bits & 0x7FFF'FFFFU) > 0x7F80'0000);
    const auto is_finite = reinterpret_cast<Words8>((bits & 0x7F80'0000U) != 0x7F80'0000U);
    const Words8 of_each = __builtin_convertvector(reinterpret_cast<Halves8>(random), Words8);
    Words8 rounded = (bits + (of_each & is_finite)) >> 16;
    rounded -= reinterpret_cast<Words8>((rounded & 0x7FFFU) == 0x7F80U) & is_finite & 1U;
    const Halves8 halves = __builtin_convertvector(rounded | (is_nan & 0x40U), Halves8);
    std::memcpy(to, &halves, sizeof halves);
  }
#elif defined(__aarch64__)
  static auto four(ArmWords bits, ArmWords random) noexcept -> ArmWords {
    const auto is_nan = reinterpret_cast<ArmWords>((bits & 0x7FFF'FFFFU) > 0x7F80'0000U);
    const auto is_finite = reinterpret_cast<ArmWords>((bits & 0x7F80'0000U) != 0x7F80'0000U);
    ArmWords rounded = (bits + (random & is_finite)) >> 16;
    rounded -= reinterpret_cast<ArmWords>((rounded & 0x7FFFU) == 0x7F80U) & is_finite & 1U;
    return rounded | (is_nan & 0x40U);
  }
  static void eight(const float* from, Longs2 random, std::byte* to) noexcept {
    arm_round_eight<ToBfloat16AtRandom>(from, random, to);
  }
#endif
};

/// Magnitudes from 2^16 on become infinite; below 2^-14 the results are multiples of 2^-24.
struct ToFloat16AtRandom {
  static constexpr auto one(float value, std::uint16_t random) noexcept -> std::uint16_t {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    const std::uint32_t magnitude = bits & 0x7FFF'FFFFU;
    if (magnitude >= 0x4780'0000U) return to_float16(value);
    std::uint32_t half = 0;
    if (magnitude >= 0x3880'0000U) {
      half = (magnitude - 0x3800'0000U + (random >> 3U)) >> 13;
    } else if (const std::uint32_t exponent = magnitude >> 23; exponent > 110 - 32) {
      const std::uint32_t mantissa = (magnitude & 0x7F'FFFFU) | 0x80'0000U;
      const std::uint32_t steps = exponent > 110 ? mantissa << (exponent - 110) : mantissa >> (110 - exponent);
      half = (steps + random) >> 16;  // in steps of 2^-40
    }
    if (half == 0x7C00U) half = 0x7BFFU;
    return static_cast<std::uint16_t>((bits >> 16 & 0x8000U) | half);
  }
#if defined(__x86_64__)
  [[gnu::target("avx2,f16c"), gnu::always_inline]] static void eight(const float* from, Longs2 random,
                                                                     std::byte* to) noexcept {
    using Floats8 = float __attribute__((vector_size(32)));
    Floats8 values;
    std::memcpy(&values, from, sizeof values);
    const auto bits = reinterpret_cast<Words8>(values);
    const Words8 magnitude = bits & 0x7FFF'FFFFU;
    const auto is_large = reinterpret_cast<Words8>(reinterpret_cast<SignedWords8>(magnitude) > 0x477F'FFFF);
    const auto is_small = reinterpret_cast<Words8>(reinterpret_cast<SignedWords8>(magnitude) < 0x3880'0000);
    const Words8 of_each = __builtin_convertvector(reinterpret_cast<Halves8>(random), Words8);
    const auto small = reinterpret_cast<Floats8>(magnitude & is_small) * 0x1p40F;
    const Words8 steps = reinterpret_cast<Words8>(__builtin_convertvector(small, SignedWords8));
    Words8 half =
        (is_small & (steps + of_each) >> 16) | (~is_small & (magnitude - 0x3800'0000U + (of_each >> 3)) >> 13);
    half -= reinterpret_cast<Words8>(half == 0x7C00U) & 1U;
    half |= bits >> 16 & 0x8000U;
    const auto nearest = __builtin_ia32_vcvtps2ph256(values, 0);
    Halves8 of_large;
    std::memcpy(&of_large, &nearest, sizeof of_large);
    half = (is_large & __builtin_convertvector(of_large, Words8)) | (~is_large & half);
    const Halves8 halves = __builtin_convertvector(half, Halves8);
    std::memcpy(to, &halves, sizeof halves);
  }
#elif defined(__aarch64__)
  static auto four(ArmWords bits, ArmWords random) noexcept -> ArmWords {
    const ArmWords magnitude = bits & 0x7FFF'FFFFU;
    const auto is_large = reinterpret_cast<ArmWords>(magnitude > 0x477F'FFFFU);
    const auto is_small = reinterpret_cast<ArmWords>(magnitude < 0x3880'0000U);
    const auto is_nan = reinterpret_cast<ArmWords>(magnitude > 0x7F80'0000U);
    const auto small = reinterpret_cast<ArmFloats>(magnitude & is_small) * 0x1p40F;
    const auto steps = reinterpret_cast<ArmWords>(__builtin_convertvector(small, ArmSignedWords));
    ArmWords half =
        (is_small & (steps + random) >> 16) | (~is_small & (magnitude - 0x3800'0000U + (random >> 3)) >> 13);
    half -= reinterpret_cast<ArmWords>(half == 0x7C00U) & 1U;
    const ArmWords of_large = 0x7C00U | (is_nan & (0x200U | (magnitude >> 13 & 0x3FFU)));
    return (bits >> 16 & 0x8000U) | (is_large & of_large) | (~is_large & half);
  }
  static void eight(const float* from, Longs2 random, std::byte* to) noexcept {
    arm_round_eight<ToFloat16AtRandom>(from, random, to);
  }
#endif
};

/// Returns the next 64 random bits, enough for four elements.
constexpr auto next_bits(std::uint64_t& state) noexcept -> std::uint64_t {
  return mix_bits(state += 0x9E37'79B9'7F4A'7C15);
}

#if defined(__x86_64__) || defined(__aarch64__)
template <class Conversion>
#if defined(__x86_64__)
[[gnu::target("avx2,f16c")]]
#endif
void round_by_eights(const float* from, std::size_t size, std::uint64_t state, std::byte* to) noexcept {
  const auto next = [&state]()
#if defined(__x86_64__)
                        __attribute__((target("avx2,f16c"), always_inline))
#endif
  {
    const std::uint64_t first = next_bits(state);
    return Longs2{first, next_bits(state)};
  };
  for (; size >= 8; size -= 8, from += 8, to += 8 * sizeof(std::uint16_t)) Conversion::eight(from, next(), to);
  if (size == 0) return;
  float last[8] = {};
  std::byte rounded[8 * sizeof(std::uint16_t)];
  std::memcpy(last, from, size * sizeof *from);
  Conversion::eight(last, next(), rounded);
  std::memcpy(to, rounded, size * sizeof(std::uint16_t));
}
#endif

/// Converts eight at a time if the machine can, otherwise one by one. Both give the same bits.
template <class Conversion>
void round_at_random(std::span<const float> elements, std::uint64_t state, std::byte* to,
                     [[maybe_unused]] bool by_eights = has_half_instructions()) noexcept {
#if defined(__x86_64__) || defined(__aarch64__)
  if (by_eights) return round_by_eights<Conversion>(elements.data(), elements.size(), state, to);
#endif
  std::uint64_t bits = 0;
  for (std::size_t i = 0; i < elements.size(); ++i, bits >>= 16) {
    if (i % 4 == 0) bits = next_bits(state);
    const std::uint16_t half = Conversion::one(elements[i], static_cast<std::uint16_t>(bits));
    std::memcpy(to + i * sizeof half, &half, sizeof half);
  }
}

}  // namespace detail

/// Writes `elements` as `encode_elements` does, but rounds at random. The direction is a function of `random` and the
/// element's position. If each `random` comes from `mix_bits`, the directions of different elements and of different
/// `random` are independent. Elements of float32 are not rounded.
inline void encode_elements_at_random(FloatFormat format, std::span<const float> elements, std::uint64_t random,
                                      std::byte* to) noexcept {
  if (format == FloatFormat::bfloat16) detail::round_at_random<detail::ToBfloat16AtRandom>(elements, random, to);
  else if (format == FloatFormat::float16) detail::round_at_random<detail::ToFloat16AtRandom>(elements, random, to);
  else encode_elements(format, elements, to);
}

}  // namespace v0
}  // namespace distrib
