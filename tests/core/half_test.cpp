// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/half.hpp>

#include "support/catch.hpp"

#include <array>
#include <bit>
#include <cfenv>
#include <cmath>
#include <cstddef>
#include <cstdint>
#include <cstring>
#include <limits>
#include <random>
#include <span>
#include <vector>

namespace {

namespace detail = distrib::detail;

auto bits_of(float value) -> std::uint32_t { return std::bit_cast<std::uint32_t>(value); }
auto float_of(std::uint32_t bits) -> float { return std::bit_cast<float>(bits); }

/// A 16-bit number with this many bits of exponent and of mantissa, as IEEE 754 defines it.
struct Format {
  int exponent_bits;
  int mantissa_bits;

  [[nodiscard]] auto infinity() const -> std::uint32_t { return ((1U << exponent_bits) - 1) << mantissa_bits; }

  /// Returns the value of a half that is not NaN, without its sign. For infinity, returns the value that it would have
  /// if its exponent were an ordinary one.
  [[nodiscard]] auto value(std::uint32_t magnitude) const -> double {
    const int bias = (1 << (exponent_bits - 1)) - 1;
    const int exponent = static_cast<int>(magnitude >> mantissa_bits);
    const double mantissa = magnitude & ((1U << mantissa_bits) - 1);
    const double one = 1 << mantissa_bits;
    return exponent == 0 ? std::ldexp(mantissa, 1 - bias - mantissa_bits)
                         : std::ldexp(one + mantissa, exponent - bias - mantissa_bits);
  }

  /// Returns the nearest half, found by search. Of two that are equally near, returns the one whose last bit is 0.
  [[nodiscard]] auto nearest(float from) const -> std::uint16_t {
    const std::uint32_t sign = bits_of(from) >> 31 << 15;
    const double wanted = std::fabs(static_cast<double>(from));
    if (std::isinf(from)) return static_cast<std::uint16_t>(sign | infinity());
    std::uint32_t low = 0;
    std::uint32_t high = infinity();
    if (wanted >= value(high)) return static_cast<std::uint16_t>(sign | high);
    while (high - low > 1) {
      const std::uint32_t middle = (low + high) / 2;
      (value(middle) <= wanted ? low : high) = middle;
    }
    const double below = wanted - value(low);
    const double above = value(high) - wanted;
    const std::uint32_t found = below < above || (below == above && low % 2 == 0) ? low : high;
    return static_cast<std::uint16_t>(sign | found);
  }
};

constexpr Format float16{5, 10};
constexpr Format bfloat16{8, 7};

/// Returns, for each exponent, the mantissas at which rounding changes and as many random ones, with both signs.
auto many_floats() -> std::vector<float> {
  std::mt19937 engine{7};
  const auto random = [&engine] { return static_cast<std::uint32_t>(engine()); };
  std::vector<float> floats;
  for (std::uint32_t exponent = 0; exponent < 256; ++exponent) {
    std::vector<std::uint32_t> mantissas{0, 1, 0x7F'FFFF, 0x7F'FFFE, 0x40'0000};
    for (std::uint32_t shift = 8; shift < 23; ++shift)
      for (const std::uint32_t odd : {1U, 3U})
        for (std::uint32_t around = 0; around < 3; ++around)
          mantissas.push_back(((odd << shift) + around - 1) & 0x7F'FFFF);
    for (int i = 0; i < 150; ++i) mantissas.push_back(random() & 0x7F'FFFF);
    for (int i = 0; i < 50; ++i) mantissas.push_back((random() & 0x7F'FFFF) >> 13 << 13 | 0x1000);  // ties of binary16
    for (int i = 0; i < 50; ++i) mantissas.push_back((random() & 0x7F'FFFF) >> 16 << 16 | 0x8000);  // ties of bfloat16
    for (const std::uint32_t mantissa : mantissas)
      for (const std::uint32_t sign : {0U, 0x8000'0000U}) floats.push_back(float_of(sign | exponent << 23 | mantissa));
  }
  return floats;
}

template <class Conversion>
auto converted(const std::vector<typename Conversion::From>& from, bool by_eights)
    -> std::vector<typename Conversion::To> {
  std::vector<typename Conversion::To> to(from.size());
  detail::convert<Conversion>(from.data(), to.data(), from.size(), by_eights);
  return to;
}

auto all_halves() -> std::vector<std::uint16_t> {
  std::vector<std::uint16_t> halves(1 << 16);
  for (std::size_t i = 0; i < halves.size(); ++i) halves[i] = static_cast<std::uint16_t>(i);
  return halves;
}

// One by one, and by eights if the machine can.
auto ways() -> std::vector<bool> {
  return detail::has_half_instructions() ? std::vector<bool>{false, true} : std::vector<bool>{false};
}

static_assert(detail::to_float16(1.0F) == 0x3C00 && detail::from_float16(0x3C00) == 1.0F);
static_assert(detail::to_bfloat16(1.0F) == 0x3F80 && detail::from_bfloat16(0x3F80) == 1.0F);

}  // namespace

TEST_CASE("from_float16: all 65536 values as IEEE 754 defines them, on every path", "[core]") {
  const std::vector<std::uint16_t> halves = all_halves();
  for (const bool by_eights : ways()) {
    CAPTURE(by_eights);
    const std::vector<float> floats = converted<detail::FromFloat16>(halves, by_eights);
    std::size_t wrong = 0;
    for (const std::uint16_t half : halves) {
      const std::uint32_t magnitude = half & 0x7FFFU;
      std::uint32_t expected = static_cast<std::uint32_t>(half & 0x8000U) << 16;
      if (magnitude < float16.infinity()) expected |= bits_of(static_cast<float>(float16.value(magnitude)));
      else expected |= 0x7F80'0000U | (magnitude & 0x3FFU) << 13 | (magnitude > float16.infinity() ? 0x40'0000U : 0U);
      if (bits_of(floats[half]) != expected) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("from_bfloat16: all 65536 values as defined, on every path", "[core]") {
  const std::vector<std::uint16_t> halves = all_halves();
  for (const bool by_eights : ways()) {
    CAPTURE(by_eights);
    const std::vector<float> floats = converted<detail::FromBfloat16>(halves, by_eights);
    std::size_t wrong = 0;
    for (const std::uint16_t half : halves) {
      const std::uint32_t magnitude = half & 0x7FFFU;
      std::uint32_t expected = static_cast<std::uint32_t>(half & 0x8000U) << 16;
      if (magnitude < bfloat16.infinity()) expected |= bits_of(static_cast<float>(bfloat16.value(magnitude)));
      else expected |= magnitude << 16;
      if (bits_of(floats[half]) != expected) ++wrong;
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("to_float16, to_bfloat16: nearest value, ties to even, on every path", "[core]") {
  const std::vector<float> floats = many_floats();
  for (const bool by_eights : ways()) {
    CAPTURE(by_eights);
    const std::vector<std::uint16_t> halves = converted<detail::ToFloat16>(floats, by_eights);
    const std::vector<std::uint16_t> brains = converted<detail::ToBfloat16>(floats, by_eights);
    std::size_t wrong = 0;
    for (std::size_t i = 0; i < floats.size(); ++i) {
      const std::uint32_t bits = bits_of(floats[i]);
      if ((bits & 0x7FFF'FFFFU) <= 0x7F80'0000U) {
        if (halves[i] != float16.nearest(floats[i]) || brains[i] != bfloat16.nearest(floats[i])) ++wrong;
      } else {  // sign, the first bits of the payload, and quiet
        if (halves[i] != ((bits >> 16 & 0x8000U) | 0x7E00U | (bits >> 13 & 0x3FFU))) ++wrong;
        if (brains[i] != (bits >> 16 | 0x40U)) ++wrong;
      }
    }
    CHECK(wrong == 0);
  }
}

TEST_CASE("to_float16, to_bfloat16: values at which the rounding changes", "[core]") {
  struct Case {
    float from;
    std::uint16_t half;
    std::uint16_t brain;
  };
  constexpr float infinity = std::numeric_limits<float>::infinity();
  const Case cases[] = {
      {0.0F, 0, 0},
      {-0.0F, 0x8000, 0x8000},
      {65504.0F, 0x7BFF, 0x4780},  // the largest finite binary16
      {65519.996F, 0x7BFF, 0x4780},
      {65520.0F, 0x7C00, 0x4780},
      {-1e6F, 0xFC00, 0xC974},
      {std::numeric_limits<float>::max(), 0x7C00, 0x7F80},
      {infinity, 0x7C00, 0x7F80},
      {-infinity, 0xFC00, 0xFF80},
      {float_of(0x3880'0000), 0x0400, 0x3880},  // 2^-14
      {float_of(0x3380'0000), 0x0001, 0x3380},  // 2^-24
      {float_of(0x3300'0000), 0x0000, 0x3300},  // 2^-25: a tie
      {float_of(0x3300'0001), 0x0001, 0x3300},
      {float_of(0x0000'0001), 0x0000, 0x0000},  // subnormal float32
      {float_of(0x0001'0000), 0x0000, 0x0001},
      {1.00390625F, 0x3C04, 0x3F80},  // 1 + 2^-8: a tie of bfloat16
      {1.01171875F, 0x3C0C, 0x3F82},  // 1 + 3 * 2^-8
  };
  for (const Case& c : cases) {
    CAPTURE(c.from);
    std::array<std::uint16_t, 1> half{};
    distrib::to_float16(std::array{c.from}, half);
    CHECK(half[0] == c.half);
    distrib::to_bfloat16(std::array{c.from}, half);
    CHECK(half[0] == c.brain);
  }
}

TEST_CASE("halves: a value that was rounded once does not change again", "[core]") {
  std::vector<std::uint16_t> halves = all_halves();
  std::vector<float> floats(halves.size());
  std::vector<std::uint16_t> again(halves.size());
  const auto is_signaling = [](std::uint16_t half, const Format& of) {
    const std::uint32_t quiet = 1U << (of.mantissa_bits - 1);
    return (half & 0x7FFFU) > of.infinity() && (half & quiet) == 0;
  };
  const auto check = [&](const Format& of) {
    std::size_t changed = 0;
    for (std::size_t i = 0; i < halves.size(); ++i)
      if (!is_signaling(halves[i], of) && again[i] != halves[i]) ++changed;
    CHECK(changed == 0);
  };
  distrib::from_float16(halves, floats);
  distrib::to_float16(floats, again);
  check(float16);
  distrib::from_bfloat16(halves, floats);
  distrib::to_bfloat16(floats, again);
  check(bfloat16);
}

TEST_CASE("halves: any number of elements at any address, and nothing written beside them", "[core]") {
  std::vector<float> floats(64);
  for (std::size_t i = 0; i < floats.size(); ++i) floats[i] = static_cast<float>(i) / 3;
  for (std::size_t first = 0; first < 9; ++first)
    for (std::size_t size = 0; size < 40; ++size) {
      CAPTURE(first, size);
      std::vector<std::uint16_t> halves(64, 0xAAAA);
      distrib::to_float16(std::span<const float>{floats}.subspan(first, size), std::span{halves}.subspan(first, size));
      std::vector<float> back(64, -1.0F);
      distrib::from_float16(std::span<const std::uint16_t>{halves}.subspan(first, size),
                            std::span{back}.subspan(first, size));
      bool good = true;
      for (std::size_t i = 0; i < 64; ++i) {
        const bool inside = i >= first && i < first + size;
        good = good && halves[i] == (inside ? detail::to_float16(floats[i]) : 0xAAAA);
        good = good && bits_of(back[i]) == bits_of(inside ? detail::from_float16(halves[i]) : -1.0F);
      }
      CHECK(good);
    }
}

TEST_CASE("to_float16: ignores the rounding mode that the program has set", "[core]") {
  const std::vector<float> floats = many_floats();
  const std::vector<std::uint16_t> expected = converted<detail::ToFloat16>(floats, false);
  for (const int mode : {FE_UPWARD, FE_DOWNWARD, FE_TOWARDZERO}) {
    std::fesetround(mode);
    std::vector<std::uint16_t> halves(floats.size());
    distrib::to_float16(floats, halves);
    const bool by_eights = detail::has_half_instructions();
    std::fesetround(FE_TONEAREST);
    CHECK(halves == expected);
#if defined(__x86_64__)
    CHECK(by_eights == detail::has_half_instructions());
#elif defined(__aarch64__)
    CHECK_FALSE(by_eights);  // the instruction would follow the mode
#else
    static_cast<void>(by_eights);
#endif
  }
}

#if defined(__aarch64__)
TEST_CASE("halves: one by one where the control register asks for another format or for other NaNs", "[core]") {
  const auto with_control = [](std::uint64_t bits) {
    std::uint64_t before = 0;
    asm volatile("mrs %0, fpcr" : "=r"(before));
    asm volatile("msr fpcr, %0" : : "r"(before | bits));
    const bool by_eights = detail::has_half_instructions();
    asm volatile("msr fpcr, %0" : : "r"(before));
    return by_eights;
  };
  CHECK(with_control(0));
  CHECK(with_control(1U << 24));  // flush to zero: denormal floats become zero in any case
  CHECK_FALSE(with_control(1U << 25));  // default NaN
  CHECK_FALSE(with_control(1U << 26));  // alternative half precision
}

TEST_CASE("halves: with flush to zero the same bits", "[core]") {
  const std::vector<float> floats = many_floats();
  const std::vector<std::uint16_t> halves = all_halves();
  const auto to = converted<detail::ToFloat16>(floats, true);
  const auto from = converted<detail::FromFloat16>(halves, true);
  std::uint64_t before = 0;
  asm volatile("mrs %0, fpcr" : "=r"(before));
  asm volatile("msr fpcr, %0" : : "r"(before | 1U << 24));
  const auto flushed_to = converted<detail::ToFloat16>(floats, true);
  const auto flushed_from = converted<detail::FromFloat16>(halves, true);
  asm volatile("msr fpcr, %0" : : "r"(before));
  CHECK(flushed_to == to);
  CHECK(std::memcmp(flushed_from.data(), from.data(), from.size() * sizeof from[0]) == 0);
}
#endif
