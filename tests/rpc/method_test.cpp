// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/method.hpp>

#include "rpc/messages.hpp"
#include "support/catch.hpp"

TEST_CASE("Method: its id is that of its name", "[rpc]") {
  STATIC_REQUIRE(distrib::RpcMethod<messages::Echo>);
  STATIC_REQUIRE(messages::Echo::id == distrib::method_id("test.Echo"));
  STATIC_REQUIRE(messages::Echo::name == "test.Echo");
  STATIC_REQUIRE_FALSE(messages::Echo::streaming);
  STATIC_REQUIRE(messages::Count::streaming);
  STATIC_REQUIRE_FALSE(distrib::RpcMethod<messages::Text>);
}
