// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/int8_blocks.hpp>

#include <distrib/core/rounded.hpp>
#include <distrib/core/stochastic_rounding.hpp>

#include <bit>
#include <cstring>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto largest_magnitude(std::span<const float> elements) noexcept -> std::uint32_t {
  using Words = std::int32_t __attribute__((vector_size(16)));
  constexpr std::size_t width = sizeof(Words) / sizeof(float);
  Words largest{};
  const auto look = [&](std::size_t at, std::size_t count) {
    Words words{};
    std::memcpy(&words, elements.data() + at, count * sizeof(float));
    words &= 0x7FFF'FFFF;
    const Words is_larger = words > largest;
    largest = (words & is_larger) | (largest & ~is_larger);
  };
  std::size_t at = 0;
  for (; elements.size() - at >= width; at += width) look(at, width);
  if (at < elements.size()) look(at, elements.size() - at);
  return static_cast<std::uint32_t>(std::max(std::max(largest[0], largest[1]), std::max(largest[2], largest[3])));
}

// True if a scale is a number by which elements can be divided.
[[nodiscard]] constexpr auto is_int8_scale(float scale) noexcept -> bool {
  const std::uint32_t magnitude = std::bit_cast<std::uint32_t>(scale) & 0x7FFF'FFFFU;
  return magnitude != 0 && magnitude < 0x7F80'0000U;
}

// One element. In steps of 2^-16 of a scale its magnitude is at most 127 * 2^16 + 2, as the scale is rounded too. The
// random number is added to these steps, and the lower 16 bits are cut off.
[[nodiscard]] inline auto int8_at_random(float value, float steps_of_one, std::uint16_t random) noexcept
    -> std::uint8_t {
  const auto bits = std::bit_cast<std::uint32_t>(value);
  const float steps = opaque(std::bit_cast<float>(bits & 0x7FFF'FFFFU) * steps_of_one);
  std::uint32_t number = (static_cast<std::uint32_t>(static_cast<std::int32_t>(steps)) + random) >> 16;
  number -= number >> 7;  // 128 becomes 127
  return static_cast<std::uint8_t>((bits >> 31) != 0 ? 0U - number : number);
}

#if defined(__x86_64__)

// Encode, and decode, as many elements as make eights. Return how many. `state`: as `next_bits` takes it.
[[gnu::target("avx2")]] DISTRIB_DECL auto encode_int8_eights(const float* from, std::size_t size, float steps_of_one,
                                                             std::uint64_t state, std::byte* to) noexcept
    -> std::size_t {
  using Floats = float __attribute__((vector_size(32)));
  using Bytes = std::uint8_t __attribute__((vector_size(8)));
  std::size_t done = 0;
  for (; size - done >= 8; done += 8) {
    const std::uint64_t first = next_bits(state);
    const Longs2 random{first, next_bits(state)};
    Words8 bits;
    std::memcpy(&bits, from + done, sizeof bits);
    Floats steps = reinterpret_cast<Floats>(bits & 0x7FFF'FFFFU) * steps_of_one;
    asm("" : "+x"(steps));
    Words8 number = reinterpret_cast<Words8>(__builtin_convertvector(steps, SignedWords8));
    number = (number + __builtin_convertvector(reinterpret_cast<Halves8>(random), Words8)) >> 16;
    number -= number >> 7;
    const auto negative = reinterpret_cast<Words8>(reinterpret_cast<SignedWords8>(bits) >> 31);
    const Bytes bytes = __builtin_convertvector((number ^ negative) - negative, Bytes);
    std::memcpy(to + done, &bytes, sizeof bytes);
  }
  return done;
}

[[gnu::target("avx2")]] DISTRIB_DECL auto decode_int8_eights(const std::byte* from, float scale, float* to,
                                                             std::size_t size) noexcept -> std::size_t {
  using Floats = float __attribute__((vector_size(32)));
  using Bytes = std::int8_t __attribute__((vector_size(8)));
  std::size_t done = 0;
  for (; size - done >= 8; done += 8) {
    Bytes bytes;
    std::memcpy(&bytes, from + done, sizeof bytes);
    const SignedWords8 numbers = __builtin_convertvector(bytes, SignedWords8);
    Floats elements = __builtin_convertvector(numbers, Floats) * scale;
    asm("" : "+x"(elements));
    std::memcpy(to + done, &elements, sizeof elements);
  }
  return done;
}

#elif defined(__aarch64__)

using ArmBytes = std::uint8_t __attribute__((vector_size(16)));
using ArmSignedHalves = std::int16_t __attribute__((vector_size(16)));

[[nodiscard]] inline auto arm_int8_at_random(ArmWords bits, ArmWords random, float steps_of_one) noexcept -> ArmWords {
  const ArmFloats steps = opaque(reinterpret_cast<ArmFloats>(bits & 0x7FFF'FFFFU) * steps_of_one);
  ArmWords number = reinterpret_cast<ArmWords>(__builtin_convertvector(steps, ArmSignedWords));
  number = (number + random) >> 16;
  number -= number >> 7;
  const auto negative = reinterpret_cast<ArmWords>(reinterpret_cast<ArmSignedWords>(bits) >> 31);
  return (number ^ negative) - negative;
}

DISTRIB_DECL auto encode_int8_eights(const float* from, std::size_t size, float steps_of_one, std::uint64_t state,
                                     std::byte* to) noexcept -> std::size_t {
  using Bytes = std::uint8_t __attribute__((vector_size(8)));
  std::size_t done = 0;
  for (; size - done >= 8; done += 8) {
    const std::uint64_t first = next_bits(state);
    const Longs2 random{first, next_bits(state)};
    const auto [low, high] = arm_load_words(from + done);
    const auto [low_random, high_random] = arm_widened(reinterpret_cast<ArmHalves>(random));
    const ArmHalves numbers = arm_narrowed(arm_int8_at_random(low, low_random, steps_of_one),
                                           arm_int8_at_random(high, high_random, steps_of_one));
    const auto bytes = reinterpret_cast<ArmBytes>(numbers);
    const Bytes lower = __builtin_shufflevector(bytes, bytes, 0, 2, 4, 6, 8, 10, 12, 14);
    std::memcpy(to + done, &lower, sizeof lower);
  }
  return done;
}

DISTRIB_DECL auto decode_int8_eights(const std::byte* from, float scale, float* to, std::size_t size) noexcept
    -> std::size_t {
  std::size_t done = 0;
  for (; size - done >= 8; done += 8) {
    ArmBytes bytes{};
    std::memcpy(&bytes, from + done, 8);
    // Each byte becomes the upper half of 16 bits, and these the upper half of a word; shifting back keeps the sign.
    const ArmBytes zero{};
    const auto halves = reinterpret_cast<ArmSignedHalves>(
        __builtin_shufflevector(zero, bytes, 0, 16, 1, 17, 2, 18, 3, 19, 4, 20, 5, 21, 6, 22, 7, 23));
    const ArmWordPair words = arm_widened(reinterpret_cast<ArmHalves>(halves >> 8));
    const ArmSignedWords low = reinterpret_cast<ArmSignedWords>(words.low << 16) >> 16;
    const ArmSignedWords high = reinterpret_cast<ArmSignedWords>(words.high << 16) >> 16;
    const ArmFloats elements[2] = {opaque(__builtin_convertvector(low, ArmFloats) * scale),
                                   opaque(__builtin_convertvector(high, ArmFloats) * scale)};
    std::memcpy(to + done, elements, sizeof elements);
  }
  return done;
}

#endif

DISTRIB_DECL void encode_int8_blocks(std::span<const float> elements, float scale, std::uint64_t random,
                                     std::uint64_t position, std::byte* to, [[maybe_unused]] bool by_eights) noexcept {
  if (elements.empty()) return;
  if (!is_int8_scale(scale)) {
    std::memset(to, 0, elements.size());
    return;
  }
  const auto steps_of_one = static_cast<float>(divide(65536.0, static_cast<double>(scale)));
  const auto state_at = [random](std::uint64_t at) { return random + at / 4 * 0x9E37'79B9'7F4A'7C15; };
  std::size_t at = 0;
  std::uint64_t bits = 0;  // of the next elements, up to one whose position is a multiple of four
  const auto one = [&] {
    const std::uint64_t here = position + at;
    if (at == 0 || here % 4 == 0) {
      std::uint64_t state = state_at(here);
      bits = next_bits(state) >> (here % 4 * 16);
    }
    to[at] = std::byte{int8_at_random(elements[at], steps_of_one, static_cast<std::uint16_t>(bits))};
    bits >>= 16;
    ++at;
  };
#if defined(__x86_64__) || defined(__aarch64__)
  if (by_eights) {
    while (at < elements.size() && (position + at) % 4 != 0) one();
    at +=
        encode_int8_eights(elements.data() + at, elements.size() - at, steps_of_one, state_at(position + at), to + at);
  }
#endif
  while (at < elements.size()) one();
}

DISTRIB_DECL void decode_int8_blocks(const std::byte* from, float scale, std::span<float> elements,
                                     [[maybe_unused]] bool by_eights) noexcept {
  if ((std::bit_cast<std::uint32_t>(scale) & 0x7F80'0000U) == 0x7F80'0000U) {
    constexpr std::uint32_t nan = 0x7FC0'0000U;
    for (float& element : elements) std::memcpy(&element, &nan, sizeof nan);
    return;
  }
  std::size_t at = 0;
#if defined(__x86_64__) || defined(__aarch64__)
  if (by_eights) at = decode_int8_eights(from, scale, elements.data(), elements.size());
#endif
  for (; at < elements.size(); ++at)
    elements[at] = opaque(static_cast<float>(std::to_integer<std::int8_t>(from[at])) * scale);
}

}  // namespace detail

DISTRIB_DECL auto int8_scale(std::span<const float> block) noexcept -> float {
  constexpr std::uint32_t least = 0x0D80'0000U;  // 2^-100: so that neither a scale nor its reciprocal is denormal
  constexpr float most = 0x1.020406p+121F;  // the largest whose 127-fold is finite
  const std::uint32_t largest = detail::largest_magnitude(block);
  if (largest < least) return 0;
  if (largest >= 0x7F80'0000U) return std::bit_cast<float>(0x7FC0'0000U);
  return std::min(most, static_cast<float>(detail::divide(static_cast<double>(std::bit_cast<float>(largest)), 127.0)));
}

DISTRIB_DECL void encode_int8(std::span<const float> elements, float scale, std::uint64_t random,
                              std::uint64_t position, std::byte* to) noexcept {
  detail::encode_int8_blocks(elements, scale, random, position, to);
}

DISTRIB_DECL void decode_int8(const std::byte* from, float scale, std::span<float> elements) noexcept {
  detail::decode_int8_blocks(from, scale, elements);
}

DISTRIB_DECL void encode_int8_row(std::span<const float> row, std::uint64_t random, std::byte* to) noexcept {
  for (std::size_t at = 0; at < row.size(); at += int8_block) {
    const std::span<const float> block = row.subspan(at, std::min(int8_block, row.size() - at));
    const float scale = int8_scale(block);
    std::memcpy(to, &scale, sizeof scale);
    encode_int8(block, scale, random, at, to + sizeof scale);
    to += sizeof scale + block.size();
  }
}

DISTRIB_DECL void decode_int8_row(const std::byte* from, std::span<float> row) noexcept {
  for (; !row.empty(); row = row.subspan(std::min(int8_block, row.size()))) {
    const std::span<float> block = row.first(std::min(int8_block, row.size()));
    float scale = 0;
    std::memcpy(&scale, from, sizeof scale);
    decode_int8(from + sizeof scale, scale, block);
    from += sizeof scale + block.size();
  }
}

}  // namespace v0
}  // namespace distrib
