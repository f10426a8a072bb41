// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/method.hpp>

#include "rpc/messages.hpp"
#include "support/catch.hpp"

TEST_CASE("Method: its id is the hash of its name", "[rpc]") {
  STATIC_REQUIRE(distrib::detail::RpcMethod<messages::Echo>);
  STATIC_REQUIRE(messages::Echo::id == distrib::method_id("test.Echo"));
  STATIC_REQUIRE(messages::Echo::name == "test.Echo");
  STATIC_REQUIRE(distrib::detail::UnaryMethod<messages::Echo>);
  STATIC_REQUIRE(distrib::detail::StreamMethod<messages::Count>);
  STATIC_REQUIRE_FALSE(messages::Count::streams_requests);
  STATIC_REQUIRE(distrib::detail::StreamMethod<messages::Sum>);
  STATIC_REQUIRE_FALSE(messages::Sum::streams_replies);
  STATIC_REQUIRE(messages::Chat::streams_requests);
  STATIC_REQUIRE(messages::Chat::streams_replies);
  STATIC_REQUIRE_FALSE(distrib::detail::RpcMethod<messages::Text>);
}

namespace {

struct Again : distrib::Method<"test.Again", distrib::Empty, distrib::Empty> {
  static constexpr bool idempotent = true;
};
struct Never : Again {
  static constexpr bool idempotent = false;
};

}  // namespace

TEST_CASE("Method: is_idempotent is false unless the method declares it", "[rpc]") {
  STATIC_REQUIRE(distrib::detail::is_idempotent<Again>);
  STATIC_REQUIRE_FALSE(distrib::detail::is_idempotent<Never>);
  STATIC_REQUIRE_FALSE(distrib::detail::is_idempotent<distrib::Method<"test.Plain", distrib::Empty, distrib::Empty>>);
}
