// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/ftrl.hpp>

#include "optimizer/against_reference.hpp"

#include <cmath>

using distrib::Ftrl;
using distrib::optimizer_errc;
using namespace reference;

TEST_CASE("Ftrl: with the root of the accumulator, each operation rounded", "[optimizer]") {
  check_updater(
      Ftrl{.learning_rate = 0.3F, .initial_accumulator_value = 0.2F, .l1 = 0.5F, .l2 = 0.25F, .l2_shrinkage = 0.125F},
      [](std::uint64_t, float g, float& w, auto& slots) {
        const float n = plus(slots[0], times(g, g));
        const float s = plus(g, times(0.25F, w));
        slots[1] = plus(slots[1], minus(s, times(over(minus(root(n), root(slots[0])), 0.3F), w)));
        slots[0] = n;
        const float z = slots[1];
        w = std::abs(z) > 0.5F ? over(minus(std::copysign(0.5F, z), z), plus(over(root(n), 0.3F), 0.5F)) : 0.0F;
      },
      [](std::uint64_t) { return distrib::detail::FtrlFactors{0.3F, 0.5F, 0.5F, 0.5F, 0.25F}; });
}

TEST_CASE("Ftrl: agrees with TensorFlow's; the first step drops the initial weights", "[optimizer]") {
  std::vector<float> values{1.0F, 2.0F};
  std::vector<float> sums(2, 0.1F), linear(2, 0.0F);
  const std::array<std::span<float>, 2> slots{sums, linear};
  const Ftrl ftrl{.learning_rate = 3.0F, .l1 = 0.001F, .l2 = 2.0F};
  for (std::uint64_t count = 1; count <= 10; ++count)
    ftrl.apply({count}, std::vector{0.1F, 0.2F}, values, values, slots);
  // The same by hand in double, from the formula of the paper.
  for (const double g : {0.1, 0.2}) {
    double w = g * 10;
    double a = 0.1F;
    double z = 0;
    for (int i = 0; i < 10; ++i) {
      const double n = a + g * g;
      z += g - (std::sqrt(n) - std::sqrt(a)) / 3.0 * w;
      a = n;
      w = (std::copysign(0.001, z) - z) / (std::sqrt(n) / 3.0 + 4.0);
    }
    CHECK(values[g == 0.1 ? 0 : 1] == Approx(w).epsilon(1e-5));
  }
}

TEST_CASE("Ftrl: with any power up to 0 it is close to libm's results", "[optimizer]") {
  for (const float exponent : {0.25F, 0.3F, 0.5F, 0.9F, 1.0F, 2.5F})
    for (const float base : {1e-30F, 3e-5F, 0.1F, 0.999F, 1.0F, 1.5F, 7.0F, 1e6F, 3e12F})
      CHECK(distrib::detail::power(base, exponent) == Approx(std::pow(double{base}, double{exponent})).epsilon(1e-11));
  CHECK(distrib::detail::power(5.0F, 0.0F) == 1.0);
  CHECK(distrib::detail::power(0.0F, 0.5F) == 0.0);
  CHECK(std::isinf(distrib::detail::power(1e38F, 100.0F)));
  CHECK(distrib::detail::power(1e-38F, 100.0F) == 0.0);
  CHECK(std::isnan(distrib::detail::power(std::nanf(""), 0.5F)));
  CHECK(std::isinf(distrib::detail::power(INFINITY, 0.5F)));

  // With the float next to -0.5 as power, the general way gives nearly the values of the root.
  std::vector<float> values[2], sums[2], linear[2];
  for (int way = 0; way < 2; ++way) {
    values[way] = numbers(100, 3);
    sums[way].assign(100, 0.1F);
    linear[way].assign(100, 0.0F);
    const std::array<std::span<float>, 2> slots{sums[way], linear[way]};
    const Ftrl ftrl{.learning_rate = 0.5F, .learning_rate_power = way == 0 ? -0.5F : -0.50000006F, .l1 = 0.01F};
    for (std::uint64_t count = 1; count <= 5; ++count)
      ftrl.apply({count}, numbers(100, static_cast<std::uint32_t>(count)), values[way], values[way], slots);
  }
  for (std::size_t i = 0; i < 100; ++i) CHECK(values[0][i] == Approx(values[1][i]).epsilon(1e-4).margin(1e-5));
}

TEST_CASE("Ftrl: with power 0 the steps do not become smaller", "[optimizer]") {
  std::vector<float> values{0.0F}, sums{0.1F}, linear{0.0F};
  const std::array<std::span<float>, 2> slots{sums, linear};
  const Ftrl ftrl{.learning_rate = 0.5F, .learning_rate_power = 0.0F};
  for (std::uint64_t count = 1; count <= 4; ++count) ftrl.apply({count}, std::vector{1.0F}, values, values, slots);
  CHECK(values[0] == -2.0F);  // 4 * 0.5
}

TEST_CASE("Ftrl: its name, slots and description", "[optimizer]") {
  CHECK(Ftrl{}.describe() ==
        "learning_rate=0.001 learning_rate_power=-0.5 initial_accumulator_value=0.1 l1=0 l2=0 l2_shrinkage=0");
  CHECK(Ftrl{.initial_accumulator_value = 0.5F}.slots()[0] == distrib::Slot{"Ftrl", 0.5F});
  CHECK(Ftrl{}.slots()[1] == distrib::Slot{"Ftrl_1", 0.0F});
  check_texts({Ftrl{}, Ftrl{.learning_rate_power = -0.25F, .l1 = 0.5F, .l2 = 2.0F, .l2_shrinkage = 1.0F}});
}

TEST_CASE("Ftrl: refuses the hyper-parameters that TensorFlow refuses", "[optimizer]") {
  CHECK_FALSE(checked(Ftrl{}));
  CHECK(checked(Ftrl{.initial_accumulator_value = 0.0F}) == optimizer_errc::accumulator_not_positive);
  CHECK(checked(Ftrl{.learning_rate_power = 0.1F}) == optimizer_errc::positive_power);
  CHECK(checked(Ftrl{.l1 = -0.1F}) == optimizer_errc::negative);
  CHECK(checked(Ftrl{.l2 = -0.1F}) == optimizer_errc::negative);
  CHECK(checked(Ftrl{.l2_shrinkage = -0.1F}) == optimizer_errc::negative);
  CHECK(checked(Ftrl{.l1 = std::nanf("")}) == optimizer_errc::negative);
}
