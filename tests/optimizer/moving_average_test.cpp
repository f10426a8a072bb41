// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/moving_average.hpp>

#include "support/catch.hpp"

#include <array>

TEST_CASE("MovingAverage: TensorFlow's formula, with and without a number of updates", "[optimizer]") {
  std::array<float, 2> averages{1.0F, -2.0F};
  const std::array<float, 2> values{3.0F, 2.0F};
  distrib::MovingAverage{.decay = 0.75F}.update(averages, values);
  CHECK(averages == std::array{1.5F, -1.0F});
  distrib::MovingAverage{.decay = 0.75F}.update(averages, values, 0);  // decay 1 / 10
  CHECK(averages[0] == Approx(2.85F).epsilon(1e-6));
  CHECK(averages[1] == Approx(1.7F).epsilon(1e-6));
  averages = {1.0F, -2.0F};
  distrib::MovingAverage{.decay = 0.75F}.update(averages, values, 1'000'000);
  CHECK(averages == std::array{1.5F, -1.0F});
}
