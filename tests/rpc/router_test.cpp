// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/router.hpp>

#include "rpc/messages.hpp"
#include "rpc/pair.hpp"
#include "support/catch.hpp"

using distrib::ClientEvent;
using distrib::on;
using distrib::rpc_errc;
using distrib::ServerCore;
using distrib::ServerEvent;
using messages::Echo;
using messages::Store;

namespace {

/// Sends one request to a router and returns the events at the client.
template <class Router>
auto asked(Router& router, std::uint32_t method, distrib::ByteView head, distrib::SharedBuffer body = nullptr)
    -> std::vector<pair::Seen> {
  pair::Pair pair;
  pair.client.call(method, head, std::move(body), {}, pair.now);
  const auto bytes = stream::take_output(pair.client, pair.now);
  REQUIRE(stream::give(pair.server, bytes, bytes.size(), pair.now) == bytes.size());
  for (ServerEvent event; pair.server.next(pair.now, event);)
    if (event.kind == ServerEvent::Kind::request) router.dispatch(&pair.server, event);
  pair.carry();
  pair.at_client.erase(pair.at_client.begin());  // the greeting
  return pair.at_client;
}

auto head_of(const auto& message) -> std::vector<std::byte> {
  distrib::WireWriter head;
  message.encode(head);
  return head.take();
}

}  // namespace

TEST_CASE("Router: each method goes to its handler", "[rpc]") {
  distrib::SharedBuffer stored;
  distrib::Router router{on<Echo>([](messages::Text request, auto call) { call.reply({request.text + request.text}); }),
                         on<Store>([&](messages::Bulk request, auto call) {
                           stored = std::move(request.body);
                           CHECK_FALSE(call.deadline());
                           call.reply({});
                         })};

  const auto echo = asked(router, Echo::id, head_of(messages::Text{"ab"}));
  REQUIRE(echo.size() == 1);
  CHECK(echo[0].kind == static_cast<int>(ClientEvent::Kind::reply));
  messages::Text text;
  CHECK(text.decode(distrib::as_bytes(echo[0].head)));
  CHECK(text.text == "abab");

  CHECK(asked(router, Store::id, head_of(messages::Bulk{}), stream::body(100))[0].kind ==
        static_cast<int>(ClientEvent::Kind::reply));
  CHECK(stored->size() == 100);
}

TEST_CASE("Router: unknown methods and requests that cannot be decoded are refused", "[rpc]") {
  distrib::Router router{on<Echo>([](messages::Text, auto) { FAIL("the handler was called"); })};
  CHECK(asked(router, Store::id, {})[0].code == rpc_errc::unknown_method);
  const auto bad = asked(router, Echo::id, distrib::as_bytes("\x0a"));
  CHECK(bad[0].code == rpc_errc::bad_message);
  CHECK(bad[0].where == "test.Echo");
  CHECK(asked(router, Echo::id, {}, stream::body(1))[0].code == rpc_errc::bad_message);
  distrib::Router<> none;
  CHECK(asked(none, Echo::id, {})[0].code == rpc_errc::unknown_method);
}

TEST_CASE("Router: a handler may fail a call with any code and text", "[rpc]") {
  distrib::Router router{on<Echo>([](messages::Text, auto call) { call.fail(rpc_errc::exhausted, "no room"); })};
  const auto seen = asked(router, Echo::id, {});
  CHECK(seen[0].code == rpc_errc::exhausted);
  CHECK(seen[0].where == "no room");
}
