// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/method.hpp>

#include "rpc/messages.hpp"
#include "support/catch.hpp"

using distrib::detail::decode_message;

TEST_CASE("Method: its id is that of its name", "[rpc]") {
  STATIC_REQUIRE(distrib::RpcMethod<messages::Echo>);
  STATIC_REQUIRE(messages::Echo::id == distrib::method_id("test.Echo"));
  STATIC_REQUIRE(messages::Echo::name == "test.Echo");
  STATIC_REQUIRE_FALSE(messages::Echo::streaming);
  STATIC_REQUIRE(messages::Count::streaming);
  STATIC_REQUIRE_FALSE(distrib::RpcMethod<messages::Text>);
}

TEST_CASE("decode_message: a body only where one belongs", "[rpc]") {
  const auto body = std::make_shared<const distrib::AlignedBuffer>(8);
  messages::Bulk bulk;
  CHECK(decode_message({}, body, bulk));
  CHECK(bulk.body == body);
  CHECK(decode_message({}, nullptr, bulk));
  CHECK(bulk.body == nullptr);
  messages::Text text;
  CHECK(decode_message({}, nullptr, text));
  CHECK_FALSE(decode_message({}, body, text));
  CHECK_FALSE(decode_message(distrib::as_bytes("\x0a"), nullptr, text));
  distrib::Empty empty;
  CHECK(decode_message({}, nullptr, empty));
}
