// SPDX-License-Identifier: Apache-2.0
#pragma once

#if defined(__aarch64__)

#include <cstddef>
#include <cstdint>
#include <cstring>

// Numbers of 16 bits, eight at a time, with what every aarch64 processor has. Vectors of the compiler, and asm for the
// instructions that it has no other word for: <arm_neon.h> takes longer to compile than all of half.hpp.

namespace distrib {
inline namespace v0 {
namespace detail {

using ArmFloats = float __attribute__((vector_size(16)));
using ArmWords = std::uint32_t __attribute__((vector_size(16)));
using ArmSignedWords = std::int32_t __attribute__((vector_size(16)));
using ArmHalves = std::uint16_t __attribute__((vector_size(16)));

/// Eight words: four and four.
struct ArmWordPair {
  ArmWords low;
  ArmWords high;
};

inline auto arm_load_words(const float* from) noexcept -> ArmWordPair {
  ArmWordPair words;
  std::memcpy(&words.low, from, sizeof words.low);
  std::memcpy(&words.high, from + 4, sizeof words.high);
  return words;
}

inline auto arm_widened(ArmHalves halves) noexcept -> ArmWordPair {
  const ArmHalves zero{};
  return {reinterpret_cast<ArmWords>(__builtin_shufflevector(halves, zero, 0, 8, 1, 9, 2, 10, 3, 11)),
          reinterpret_cast<ArmWords>(__builtin_shufflevector(halves, zero, 4, 12, 5, 13, 6, 14, 7, 15))};
}

/// Returns the lower half of each word.
inline auto arm_narrowed(ArmWords low, ArmWords high) noexcept -> ArmHalves {
  return __builtin_shufflevector(reinterpret_cast<ArmHalves>(low), reinterpret_cast<ArmHalves>(high), 0, 2, 4, 6, 8, 10,
                                 12, 14);
}

/// True if `arm_to_float16` and `arm_from_float16` give the bits of the portable code: rounding to nearest, IEEE's own
/// binary16, and the payloads of NaN are kept. A program can have set the control register otherwise.
inline auto arm_converts_as_ieee() noexcept -> bool {
  std::uint64_t control = 0;
  asm volatile("mrs %0, fpcr" : "=r"(control));
  constexpr std::uint64_t rounding_mode = 3U << 22;
  constexpr std::uint64_t default_nan = 1U << 25;
  constexpr std::uint64_t alternative_half = 1U << 26;
  constexpr std::uint64_t alternative_handling = 7;
  return (control & (rounding_mode | default_nan | alternative_half | alternative_handling)) == 0;
}

inline void arm_to_float16(const float* from, std::uint16_t* to) noexcept {
  const auto [low, high] = arm_load_words(from);
  ArmHalves halves;
  asm("fcvtn %0.4h, %1.4s\n\tfcvtn2 %0.8h, %2.4s" : "=&w"(halves) : "w"(low), "w"(high));
  std::memcpy(to, &halves, sizeof halves);
}

inline void arm_from_float16(const std::uint16_t* from, float* to) noexcept {
  ArmHalves halves;
  std::memcpy(&halves, from, sizeof halves);
  ArmFloats low;
  ArmFloats high;
  asm("fcvtl %0.4s, %2.4h\n\tfcvtl2 %1.4s, %2.8h" : "=&w"(low), "=w"(high) : "w"(halves));
  std::memcpy(to, &low, sizeof low);
  std::memcpy(to + 4, &high, sizeof high);
}

/// Returns words whose upper halves are the bfloat16 numbers.
inline auto arm_nearest_bfloat16(ArmWords bits) noexcept -> ArmWords {
  const auto is_nan = reinterpret_cast<ArmWords>((bits & 0x7FFF'FFFFU) > 0x7F80'0000U);
  const ArmWords rounded = bits + 0x7FFFU + (bits >> 16 & 1U);
  return (is_nan & (bits | 0x40'0000U)) | (~is_nan & rounded);
}

inline void arm_to_bfloat16(const float* from, std::uint16_t* to) noexcept {
  const auto [low, high] = arm_load_words(from);
  const ArmHalves halves =
      __builtin_shufflevector(reinterpret_cast<ArmHalves>(arm_nearest_bfloat16(low)),
                              reinterpret_cast<ArmHalves>(arm_nearest_bfloat16(high)), 1, 3, 5, 7, 9, 11, 13, 15);
  std::memcpy(to, &halves, sizeof halves);
}

inline void arm_from_bfloat16(const std::uint16_t* from, float* to) noexcept {
  ArmHalves halves;
  std::memcpy(&halves, from, sizeof halves);
  const auto [low, high] = arm_widened(halves);
  const ArmWords words[2] = {low << 16, high << 16};
  std::memcpy(to, words, sizeof words);
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#endif
