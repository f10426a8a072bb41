// SPDX-License-Identifier: Apache-2.0
#include <distrib/train/job/gradient_norms.hpp>

#include "support/catch.hpp"

#include <cmath>

TEST_CASE("GradientNorms: the largest of each step, once", "[train]") {
  distrib::GradientNorms norms;
  CHECK(std::isnan(norms.take(1)));
  norms.add(1, 0.5F);
  norms.add(2, 7.0F);
  norms.add(1, 2.0F);
  norms.add(1, 1.0F);
  norms.add(3, NAN);
  CHECK(norms.take(1) == 2.0F);
  CHECK(std::isnan(norms.take(1)));
  CHECK(norms.take(2) == 7.0F);
  CHECK(std::isnan(norms.take(3)));
  norms.add(4, 0.0F);
  norms.add(5, INFINITY);
  CHECK(norms.take(9) == INFINITY);  // steps 4 and 5 of a rank, when 9 contributions are counted
  CHECK(std::isnan(norms.take(9)));
}
