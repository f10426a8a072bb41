// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/order/order.hpp>

#include <distrib/data/order/elements.hpp>

#include "support/catch.hpp"

TEST_CASE("WholeOrder: all files, one after the other", "[data]") {
  STATIC_REQUIRE(distrib::Order<distrib::WholeOrder>);
  STATIC_REQUIRE(!distrib::Order<int>);
  auto order = distrib::elements(std::vector<std::uint64_t>{3, 0, 2}).open();
  CHECK(order.size() == 5);
  CHECK(order.plain().size() == 5);
  CHECK(order.describe().empty());
  for (std::uint64_t p = 0; p < 5; ++p) CHECK(order.at(7, p) == p);
}
