// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/order/dataset_steps.hpp>

#include <distrib/data/order/elements.hpp>

#include "data/numbers.hpp"
#include "support/catch.hpp"

using distrib::elements;
using numbers::all;

TEST_CASE("DatasetSteps: every step returns a new value and leaves the old value unchanged", "[data]") {
  const auto ten = elements(10);
  const auto some = ten.take(3);
  CHECK(all(ten).size() == 10);
  CHECK(all(some.repeat(2)).size() == 6);
  CHECK(all(some).size() == 3);
  STATIC_REQUIRE(!std::is_same_v<decltype(ten), decltype(some)>);
}

TEST_CASE("DatasetSteps: steps apply in the order in which they are called", "[data]") {
  CHECK(all(elements(10).take(5).skip(2)) == numbers::Numbers{2, 3, 4});
  CHECK(all(elements(10).skip(2).take(5)) == numbers::Numbers{2, 3, 4, 5, 6});
}
