// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/moving_average.hpp>

#include "optimizer/reference.hpp"
#include "support/catch.hpp"

#include <array>
#include <cstddef>
#include <limits>
#include <system_error>
#include <vector>

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

TEST_CASE("MovingAverage: each operation is rounded by itself, for blocks of any size", "[optimizer]") {
  using namespace reference;
  for (const std::size_t size : {0U, 1U, 3U, 4U, 5U, 8U, 31U}) {
    CAPTURE(size);
    std::vector<float> averages = numbers(size, 1);
    std::vector<float> expected = averages;
    const std::vector<float> values = numbers(size, 2);
    for (std::size_t i = 0; i < size; ++i)
      expected[i] = minus(expected[i], times(minus(expected[i], values[i]), minus(1.0F, 0.9F)));
    distrib::MovingAverage{.decay = 0.9F}.update(averages, values);
    CHECK(averages == expected);
  }
}

TEST_CASE("MovingAverage: its text, and which decays it accepts", "[optimizer]") {
  CHECK(distrib::MovingAverage{}.describe() == "decay=0.999");
  CHECK(distrib::MovingAverage{.decay = 0.5F, .warm_up = true}.describe() == "decay=0.5 warm_up=true");
  const auto checked = [](float decay) {
    std::error_code ec;
    distrib::MovingAverage{.decay = decay}.check(ec);
    return ec;
  };
  CHECK_FALSE(checked(0));
  CHECK_FALSE(checked(0.9999F));
  for (const float bad : {1.0F, -0.1F, std::numeric_limits<float>::quiet_NaN()})
    CHECK(checked(bad) == distrib::optimizer_errc::bad_decay);
}
