// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/same_math.hpp>

#include "support/catch.hpp"

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstdint>
#include <limits>

namespace {

using SameMathFunction = float (*)(float) noexcept;

// `hash` is of the results for every 9973rd float, recorded on x86-64; NaN counts as one value. The accuracy is checked
// against the functions of libm for doubles.
struct SameMathCase {
  const char* name;
  SameMathFunction function;
  double (*exact)(double);
  std::uint64_t hash;
};

const SameMathCase same_math_cases[] = {
    {"exp", distrib::same_exp, [](double x) { return std::exp(x); }, 0xf92a5d0d50e10ecd},
    {"log", distrib::same_log, [](double x) { return std::log(x); }, 0x178ac6c6fa881ff3},
    {"log1p", distrib::same_log1p, [](double x) { return std::log1p(x); }, 0xf4f352d845e3aff8},
    {"tanh", distrib::same_tanh, [](double x) { return std::tanh(x); }, 0x35a07b0c3390865a},
    {"sigmoid", distrib::same_sigmoid, [](double x) { return 1 / (1 + std::exp(-x)); }, 0x5d3b3068f961b124},
};

auto same_math_bits(float x) -> std::uint32_t { return std::isnan(x) ? 0x7fc00000U : std::bit_cast<std::uint32_t>(x); }

// Returns how far `value` is from the exact value, in units of the last place of a float.
auto units_off(float value, double exact) -> double {
  int exponent = 0;
  std::frexp(exact, &exponent);
  return std::abs(static_cast<double>(value) - exact) / std::ldexp(1.0, std::max(exponent - 24, -149));
}

}  // namespace

TEST_CASE("same_math: recorded bits, within 0.501 units in the last place of the exact values", "[core]") {
  for (const SameMathCase& c : same_math_cases) {
    INFO(c.name);
    std::uint64_t hash = 0xcbf29ce484222325;
    double furthest = 0;
    int wrong_specials = 0;
    for (std::uint64_t bits = 0; bits <= 0xffffffffU; bits += 9973) {
      const auto x = std::bit_cast<float>(static_cast<std::uint32_t>(bits));
      const float y = c.function(x);
      hash = (hash ^ same_math_bits(y)) * 0x100000001b3;
      const double exact = c.exact(static_cast<double>(x));
      const auto nearest = static_cast<float>(exact);
      if (std::isfinite(nearest) && std::isfinite(y)) furthest = std::max(furthest, units_off(y, exact));
      else if (same_math_bits(nearest) != same_math_bits(y)) ++wrong_specials;
    }
    CHECK(hash == c.hash);
    CHECK(furthest < 0.501);
    CHECK(wrong_specials == 0);
  }
}

TEST_CASE("same_math: zeros, ends of the range, infinity, NaN", "[core]") {
  const float inf = std::numeric_limits<float>::infinity(), least = std::numeric_limits<float>::denorm_min();
  CHECK(distrib::same_exp(0.0F) == 1.0F);
  CHECK(distrib::same_exp(-0.0F) == 1.0F);
  CHECK(distrib::same_exp(inf) == inf);
  CHECK(distrib::same_exp(-inf) == 0.0F);
  CHECK(distrib::same_exp(0x1.62e42ep6F) < inf);
  CHECK(distrib::same_exp(0x1.62e430p6F) == inf);
  CHECK(distrib::same_exp(-103.9F) == least);
  CHECK(distrib::same_exp(-104.0F) == 0.0F);
  CHECK(distrib::same_exp(-1e30F) == 0.0F);

  CHECK(distrib::same_log(1.0F) == 0.0F);
  CHECK(distrib::same_log(0.0F) == -inf);
  CHECK(distrib::same_log(-0.0F) == -inf);
  CHECK(distrib::same_log(inf) == inf);
  CHECK(std::isnan(distrib::same_log(-least)));
  CHECK(std::isnan(distrib::same_log(-inf)));
  CHECK(distrib::same_log(least) == -0x1.9d1da0p6F);

  CHECK(same_math_bits(distrib::same_log1p(-0.0F)) == same_math_bits(-0.0F));
  CHECK(distrib::same_log1p(-1.0F) == -inf);
  CHECK(std::isnan(distrib::same_log1p(-1.0001F)));
  CHECK(distrib::same_log1p(inf) == inf);
  CHECK(distrib::same_log1p(least) == least);

  CHECK(same_math_bits(distrib::same_tanh(-0.0F)) == same_math_bits(-0.0F));
  CHECK(distrib::same_tanh(inf) == 1.0F);
  CHECK(distrib::same_tanh(-inf) == -1.0F);
  CHECK(distrib::same_tanh(-30.0F) == -1.0F);
  CHECK(distrib::same_tanh(least) == least);

  CHECK(distrib::same_sigmoid(0.0F) == 0.5F);
  CHECK(distrib::same_sigmoid(inf) == 1.0F);
  CHECK(distrib::same_sigmoid(-inf) == 0.0F);

  for (const SameMathCase& c : same_math_cases) CHECK(std::isnan(c.function(std::nanf(""))));
}
