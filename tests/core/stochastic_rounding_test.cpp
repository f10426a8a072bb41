// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/stochastic_rounding.hpp>

#include <distrib/core/float_codec.hpp>

#include "support/catch.hpp"

#include <array>
#include <bit>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

using distrib::FloatFormat;

namespace {

namespace detail = distrib::detail;

constexpr float infinity = std::numeric_limits<float>::infinity();

auto number(FloatFormat format, std::uint16_t half) -> float {
  return format == FloatFormat::bfloat16 ? detail::from_bfloat16(half) : detail::from_float16(half);
}

auto rounded(FloatFormat format, float value, std::uint32_t random) -> float {
  const auto of_element = static_cast<std::uint16_t>(random);
  return number(format, format == FloatFormat::bfloat16 ? detail::ToBfloat16AtRandom::one(value, of_element)
                                                        : detail::ToFloat16AtRandom::one(value, of_element));
}

/// Returns the mean over all 2^16 random numbers.
auto mean(FloatFormat format, float value) -> double {
  double sum = 0;
  for (std::uint32_t random = 0; random < 1 << 16; ++random) sum += static_cast<double>(rounded(format, value, random));
  return sum / (1 << 16);
}

auto encoded(FloatFormat format, const std::vector<float>& elements, std::uint64_t random) -> std::vector<float> {
  std::vector<float> memory(elements.size());
  distrib::encode_elements_at_random(format, elements, random, reinterpret_cast<std::byte*>(memory.data()));
  std::vector<float> decoded(elements.size());
  distrib::decode_elements(format, reinterpret_cast<const std::byte*>(memory.data()), decoded);
  return decoded;
}

constexpr FloatFormat halves[] = {FloatFormat::bfloat16, FloatFormat::float16};

}  // namespace

TEST_CASE("rounding at random: the mean over all random numbers is the number itself", "[core]") {
  for (const FloatFormat format : halves)
    for (const float value :
         {1.1F, -1.1F, 3.14159F, 1e-3F, -0.3F, 65503.0F, 6.1e-5F, 5.9e-5F, -3e-5F, 1.3e-7F, 4e-8F}) {
      CAPTURE(to_text(format), value);
      // float16 ignores the last 3 of the 16 random bits. Below 2^-14 its steps are 2^-24, and the random numbers have
      // steps of 2^-40.
      const double step = std::ldexp(static_cast<double>(std::fabs(value)), -24) + std::ldexp(1.0, -40);
      CHECK(std::fabs(mean(format, value) - static_cast<double>(value)) <= 2 * step);
    }
}

TEST_CASE("rounding at random: to one of the two neighbours; exact values do not change", "[core]") {
  for (const FloatFormat format : halves)
    for (std::uint32_t bits = 0; bits < 1 << 16; bits += 7) {
      const float exact = number(format, static_cast<std::uint16_t>(bits));
      if (!std::isfinite(exact)) continue;
      const float next = number(format, static_cast<std::uint16_t>(bits + 1));  // the next value away from zero
      const float between = exact + (next - exact) * 0.25F;
      for (const std::uint32_t random : {0U, 0x7FFFU, 0xBFFFU, 0xC008U, 0xFFFFU}) {
        CAPTURE(to_text(format), bits, random);
        if (rounded(format, exact, random) != exact) FAIL_CHECK("changed");
        if (!std::isfinite(next)) continue;
        // Rounds up in one of four cases: if the 16-bit random number is in the upper quarter.
        const bool up = random >= 0xC000U;
        if (rounded(format, between, random) != (up ? next : exact) && between != exact) FAIL_CHECK("elsewhere");
      }
    }
}

TEST_CASE("rounding at random: zeros keep their sign, infinity and NaN stay, nothing finite becomes infinite",
          "[core]") {
  for (const FloatFormat format : halves)
    for (const std::uint32_t random : {0U, 0x8000U, 0xFFFFU}) {
      CHECK(std::bit_cast<std::uint32_t>(rounded(format, -0.0F, random)) == 0x8000'0000U);
      CHECK(rounded(format, infinity, random) == infinity);
      CHECK(rounded(format, -infinity, random) == -infinity);
      CHECK(std::isnan(rounded(format, std::numeric_limits<float>::quiet_NaN(), random)));
      CHECK(rounded(format, std::numeric_limits<float>::denorm_min(), 0) == 0.0F);
    }
  CHECK(std::isfinite(rounded(FloatFormat::bfloat16, std::numeric_limits<float>::max(), 0xFFFF)));
  CHECK(rounded(FloatFormat::float16, 65535.9F, 0xFFFF) == 65504.0F);
  CHECK(rounded(FloatFormat::float16, -65536.0F, 0) == -infinity);
}

TEST_CASE("rounding at random: eight at a time and one by one give the same bits", "[core]") {
  if (!detail::has_half_instructions()) return;
  std::mt19937 engine{3};
  const auto any = [&engine] { return static_cast<std::uint32_t>(engine()); };
  std::vector<float> floats;
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent)
    for (std::uint32_t i = 0; i < 600; ++i) {
      const std::uint32_t mantissa = i < 3 ? 0x7F'FFFFU >> i : i == 3 ? 0 : any() & 0x7F'FFFFU;
      floats.push_back(std::bit_cast<float>((any() & 0x8000'0000U) | exponent << 23 | mantissa));
    }
  const auto converted = [&]<class Conversion>(Conversion, std::size_t size, std::uint64_t random, bool by_eights) {
    std::vector<std::uint16_t> to(size + 1, 0xAAAA);
    detail::round_at_random<Conversion>(std::span{floats}.first(size), random, reinterpret_cast<std::byte*>(to.data()),
                                        by_eights);
    CHECK(to.back() == 0xAAAA);
    return to;
  };
  for (const std::size_t size :
       {floats.size(), std::size_t{0}, std::size_t{1}, std::size_t{7}, std::size_t{8}, std::size_t{13}})
    for (std::uint64_t random = 0; random < 20; ++random) {
      CHECK(converted(detail::ToBfloat16AtRandom{}, size, random, true) ==
            converted(detail::ToBfloat16AtRandom{}, size, random, false));
      CHECK(converted(detail::ToFloat16AtRandom{}, size, random, true) ==
            converted(detail::ToFloat16AtRandom{}, size, random, false));
    }
}

TEST_CASE("encode_elements_at_random: a function of `random`, different for each element", "[core]") {
  for (const FloatFormat format : halves) {
    CAPTURE(to_text(format));
    const std::vector<float> same(1000, 1.0F + 1.0F / 4096);
    const std::vector<float> once = encoded(format, same, 7);
    CHECK(once == encoded(format, same, 7));
    CHECK(once != encoded(format, same, 8));
    // 500,000 results in all: their mean is near the number itself, as near as chance allows.
    double sum = 0;
    std::size_t count = 0;
    for (std::uint64_t key = 0; key < 500; ++key)
      for (const float value : encoded(format, same, distrib::detail::mix_bits(key))) {
        sum += static_cast<double>(value);
        ++count;
      }
    const double unit = format == FloatFormat::bfloat16 ? 1.0 / 128 : 1.0 / 1024;
    CHECK(std::fabs(sum / static_cast<double>(count) - static_cast<double>(same[0])) < unit / 500);
  }
  const std::vector<float> all{1.0F / 3, -2.5F};
  CHECK(encoded(FloatFormat::float32, all, 1) == all);
  CHECK(encoded(FloatFormat::bfloat16, {}, 1).empty());
}

TEST_CASE("encode_elements_at_random: small steps are not lost", "[core]") {
  for (const FloatFormat format : halves) {
    std::vector<float> to_nearest(64, 1.0F);
    std::vector<float> at_random(64, 1.0F);
    for (std::uint64_t step = 0; step < 4000; ++step) {
      for (float& value : to_nearest) value += 1.0F / 8192;
      for (float& value : at_random) value += 1.0F / 8192;
      std::vector<float> memory(64);
      distrib::encode_elements(format, to_nearest, reinterpret_cast<std::byte*>(memory.data()));
      distrib::decode_elements(format, reinterpret_cast<const std::byte*>(memory.data()), to_nearest);
      at_random = encoded(format, at_random, distrib::detail::mix_bits(step));
    }
    double sum = 0;
    for (const float value : at_random) sum += static_cast<double>(value);
    CHECK(to_nearest == std::vector<float>(64, 1.0F));
    CHECK(sum / 64 == Approx(1.0 + 4000.0 / 8192).margin(0.02));
  }
}
