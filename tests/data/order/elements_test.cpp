// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/order/elements.hpp>

#include "support/catch.hpp"

using distrib::elements;

TEST_CASE("elements: open reports a failure by Error, by error_code or by an exception", "[data]") {
  distrib::Error error;
  std::error_code ec;
  CHECK(elements(3).open().size() == 3);
  CHECK(elements(3).open(error)->size() == 3);
  CHECK(elements(3).open(ec)->size() == 3);
  CHECK(!elements(3).shard(2, 2).open(error));
  CHECK(error.where == "shard(2, 2)");
  CHECK(!elements(3).shard(2, 2).open(ec));
  CHECK(ec == distrib::data_errc::bad_shard);
  CHECK_THROWS_AS(elements(3).shard(2, 2).open(), std::system_error);
}
