// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/rounded.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <cstddef>
#include <limits>

using distrib::detail::Float4;
using distrib::detail::Rounded;

TEST_CASE("Rounded: each operation is rounded separately", "[core]") {
  // (1 + e)^2 - (1 + 2e) is e^2 if product and sum are fused, and 0 if the product is rounded first.
  const double e = std::numeric_limits<double>::epsilon();
  const Rounded<double> a{1 + e};
  CHECK((a * a - Rounded<double>{1 + 2 * e}).value == 0);
  CHECK((Rounded<double>{1.0} / Rounded<double>{3.0}).value == 1.0 / 3.0);
  CHECK(sqrt(Rounded<double>{2.0}).value == std::sqrt(2.0));

  const float f = std::numeric_limits<float>::epsilon();
  const Rounded<Float4> b{Float4{1 + f, 1 + f, 1 + f, 1 + f}};
  const Rounded<Float4> c{Float4{1 + 2 * f, 1 + 2 * f, 1 + 2 * f, 1 + 2 * f}};
  const Float4 difference = (b * b - c).value;
  for (std::size_t i = 0; i < 4; ++i) CHECK(difference[i] == 0);
}

TEST_CASE("Rounded: quotients and roots of four floats equal those of single ones", "[core]") {
  const Float4 numbers{2, 3, 5, 7};
  const Float4 quotients = (Rounded<Float4>{numbers} / Rounded<Float4>{Float4{3, 7, 9, 11}}).value;
  const Float4 roots = sqrt(Rounded<Float4>{numbers}).value;
  const float divisors[] = {3, 7, 9, 11};
  for (std::size_t i = 0; i < 4; ++i) {
    CHECK(quotients[i] == numbers[i] / divisors[i]);
    CHECK(roots[i] == std::sqrt(numbers[i]));
  }
}
