// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/xtensor.hpp>

#include "support/catch.hpp"

TEST_CASE("xtensor: tensors, adaptors and expressions work through this header", "[tensor]") {
  const xt::xtensor<float, 2> a{{1, 2}, {3, 4}};
  const xt::xtensor<float, 2> b = a + 1.0F;
  CHECK(b(1, 1) == 5.0F);
  CHECK(xt::xtensor<float, 1>(xt::sum(a, {1}))(1) == 7.0F);
  float memory[] = {1, 2, 3, 4};
  auto view = xt::adapt(&memory[0], 4, xt::no_ownership(), std::array<std::size_t, 2>{2, 2});
  view += a;
  CHECK(memory[3] == 8.0F);
  const xt::xtensor<float, 2>::shape_type shape{2, 2};
  CHECK(a.shape() == shape);
}
