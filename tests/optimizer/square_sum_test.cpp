// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/square_sum.hpp>

#include "optimizer/reference.hpp"
#include "support/catch.hpp"

#include <array>
#include <cstddef>
#include <limits>
#include <vector>

TEST_CASE("square_sum: in double, in the stated order", "[optimizer]") {
  for (const std::size_t size : {0U, 1U, 7U, 8U, 9U, 16U, 31U, 1003U}) {
    CAPTURE(size);
    const std::vector<float> values = reference::numbers(size, 5);
    std::array<double, 8> sums{};
    std::size_t at = 0;
    for (; at + 8 <= size; ++at) {
      if (at % 8 != 0) continue;
      for (std::size_t lane = 0; lane < 8; ++lane) sums[lane] += double{values[at + lane]} * double{values[at + lane]};
    }
    double expected = ((sums[0] + sums[2]) + (sums[4] + sums[6])) + ((sums[1] + sums[3]) + (sums[5] + sums[7]));
    for (at = size / 8 * 8; at < size; ++at) expected += double{values[at]} * double{values[at]};
    CHECK(distrib::square_sum(values) == expected);
  }
}

TEST_CASE("square_sum: squares beyond the range of float", "[optimizer]") {
  const float large = std::numeric_limits<float>::max();
  CHECK(distrib::square_sum(std::vector<float>(9, large)) == 9 * double{large} * double{large});
  CHECK(distrib::square_sum(std::vector{1e-30F}) == double{1e-30F} * double{1e-30F});
}
