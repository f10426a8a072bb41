// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/rpc_client.hpp>

#include <distrib/net/io_pool.hpp>
#include <distrib/rpc/rpc_server.hpp>

#include "rpc/loopback.hpp"
#include "rpc/messages.hpp"
#include "support/catch.hpp"

#include <functional>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using distrib::on;
using distrib::Router;
using distrib::rpc_errc;
using distrib::RpcClient;
using distrib::RpcServer;
using messages::Echo;
using messages::Text;
using namespace std::chrono_literals;

namespace {

const distrib::Address anywhere{"127.0.0.1", 0};

auto echo_server(asio::io_context& context) {
  const auto answer = [](Text request, auto call) {
    if (request.text != "never") call.reply(request);
  };
  Router router{on<Echo>(answer)};
  return std::make_unique<RpcServer<decltype(router)>>(context.get_executor(), anywhere, router);
}

}  // namespace

TEST_CASE("RpcClient: a deadline ends its call only", "[rpc]") {
  asio::io_context context{1};
  auto server = echo_server(context);
  RpcClient client{loopback::connect(context, server->port())};
  std::vector<std::string> story;
  client.async_call<Echo>({"never"}, 20ms, [&](std::error_code ec, Text) { story.push_back(ec.message()); });
  client.async_call<Echo>({"a"}, 20s, [&](std::error_code, Text reply) { story.push_back(reply.text); });
  while (story.size() < 2) context.run_one();
  CHECK(story == std::vector<std::string>{"a", make_error_code(rpc_errc::deadline_passed).message()});
  client.async_call<Echo>({"b"}, {}, [&](std::error_code, Text reply) { story.push_back(reply.text); });
  while (story.size() < 3) context.run_one();
  CHECK(story.back() == "b");
}

TEST_CASE("RpcClient: a call from inside of a completion, and from there again", "[rpc]") {
  asio::io_context context{1};
  auto server = echo_server(context);
  RpcClient client{loopback::connect(context, server->port())};
  int calls = 0;
  std::function<void(std::error_code, Text)> again = [&](std::error_code ec, Text) {
    CHECK_FALSE(ec);
    if (++calls < 1000) client.async_call<Echo>({"a"}, {}, again);
  };
  client.async_call<Echo>({"a"}, {}, again);
  while (calls < 1000) context.run_one();
}

TEST_CASE("RpcClient: when the connection is lost every call ends once, then the owner is told", "[rpc]") {
  asio::io_context context{1};
  auto server = echo_server(context);
  int closed = 0;
  int ended = 0;
  RpcClient client{loopback::connect(context, server->port()), {}, [&](const distrib::Error& reason) {
                     CHECK(reason.code == rpc_errc::lost);
                     CHECK(ended == 2);
                     ++closed;
                   }};
  const auto end = [&](std::error_code ec, Text) {
    CHECK(ec == rpc_errc::lost);
    ++ended;
  };
  client.async_call<Echo>({"never"}, {}, end);
  client.async_call<Echo>({"never"}, {}, end);
  bool answered = false;
  client.async_call<Echo>({"a"}, {}, [&](std::error_code, Text) { answered = true; });
  while (!answered) context.run_one();
  server.reset();
  while (closed == 0) context.run_one();
  // A retry from inside of a failure: refused later, so that it never recurses.
  int refused = 0;
  std::function<void(std::error_code, Text)> retry = [&](std::error_code ec, Text) {
    CHECK(ec == rpc_errc::closed);
    if (++refused < 10'000) client.async_call<Echo>({"a"}, {}, retry);
  };
  client.async_call<Echo>({"a"}, {}, retry);
  CHECK(refused == 0);
  while (refused < 10'000) context.run_one();
  CHECK(closed == 1);
}

TEST_CASE("RpcClient: destroyed with calls in flight, it ends them", "[rpc]") {
  asio::io_context context{1};
  auto server = echo_server(context);
  std::vector<std::error_code> ends;
  {
    RpcClient client{loopback::connect(context, server->port()), {}, [](const distrib::Error&) { FAIL("told"); }};
    for (int i = 0; i < 3; ++i)
      client.async_call<Echo>({"never"}, {}, [&](std::error_code ec, Text) { ends.push_back(ec); });
    context.poll();
  }
  CHECK(ends.empty());
  while (ends.size() < 3) context.run_one();
  for (const std::error_code ec : ends) CHECK(ec == rpc_errc::closed);
}

TEST_CASE("RpcClient: destroyed from inside of a completion, on a thread of a pool", "[rpc]") {
  distrib::IoPool pool{1};
  std::promise<std::string> heard;
  std::optional<RpcServer<Router<>>> server;
  std::optional<RpcClient> client;
  std::promise<std::error_code> ended;
  asio::post(pool.executor(0), [&] {
    server.emplace(pool.executor(0), anywhere, Router<>{});
    distrib::TcpSocket socket{pool.executor(0)};
    socket.connect({asio::ip::address_v4::loopback(), server->port()});
    client.emplace(std::move(socket));
    client->async_call<Echo>({"a"}, {}, [&](std::error_code ec, Text) {
      client.reset();
      server.reset();
      ended.set_value(ec);
    });
  });
  CHECK(ended.get_future().get() == rpc_errc::unknown_method);
}
