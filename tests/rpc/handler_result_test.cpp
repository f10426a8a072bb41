// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/handler_result.hpp>

#include <distrib/rpc/router.hpp>
#include <distrib/rpc/rpc_client.hpp>
#include <distrib/rpc/rpc_server.hpp>

#include "rpc/loopback.hpp"
#include "rpc/messages.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <optional>
#include <stdexcept>
#include <string>
#include <system_error>
#include <utility>

using distrib::on;
using distrib::Router;
using distrib::rpc_errc;
using distrib::RpcClient;
using distrib::RpcServer;
using messages::Echo;
using messages::Text;
using namespace std::chrono_literals;

namespace {

struct Twice : distrib::Method<"test.Twice", Text, Text> {};
struct Bad : distrib::Method<"test.Bad", Text, Text> {};

auto pause(std::chrono::milliseconds time) -> asio::awaitable<void> {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer timer{executor, time};
  co_await timer.async_wait(asio::use_awaitable);
}

auto echo(Text request) -> asio::awaitable<Text> {
  co_await pause(1ms);
  co_return request;
}

auto bad(Text request) -> asio::awaitable<Text> {
  co_await pause(1ms);
  distrib::throw_error(rpc_errc::bad_message, request.text);
  co_return request;
}

/// One call after the other, and what an error looks like.
auto use(RpcClient& client, bool& done) -> asio::awaitable<void> {
  std::string text = "a";
  for (int i = 0; i < 20; ++i) {
    Text request;
    request.text = text;
    const Text reply = co_await client.async_call<Echo>(request, 10s, asio::use_awaitable);
    text = reply.text + "b";
  }
  CHECK(text == "a" + std::string(20, 'b'));
  Text two;
  two.text = "2";
  const Text twice = co_await client.async_call<Twice>(two, 10s, asio::use_awaitable);
  CHECK(twice.text == "22");
  std::error_code ec;
  try {
    const Text never = co_await client.async_call<Bad>(two, 10s, asio::use_awaitable);
    CHECK(never.text.empty());
  } catch (const std::system_error& error) {
    ec = error.code();
  }
  CHECK(ec == rpc_errc::bad_message);
  done = true;
}

}  // namespace

TEST_CASE("HandlerResult: coroutines at both ends", "[rpc]") {
  asio::io_context context{1};
  const auto twice = [](Text request, auto call) -> asio::awaitable<void> {
    co_await pause(1ms);
    Text reply;
    reply.text = request.text + request.text;
    call.reply(reply);
  };
  RpcServer server{context.get_executor(), distrib::Address{"127.0.0.1", 0},
                   Router{on<Echo>(echo), on<Twice>(twice), on<Bad>(bad)}};
  RpcClient client{loopback::connect(context, server.port())};
  bool done = false;
  asio::co_spawn(context, use(client, done), [](const std::exception_ptr& thrown) { CHECK_FALSE(thrown); });
  while (!done) context.run_one();
}

TEST_CASE("HandlerResult: that another call was not sent says nothing of the caller's", "[rpc]") {
  asio::io_context context{1};
  const auto later = [](Text request) -> asio::awaitable<Text> {
    co_await pause(1ms);
    distrib::throw_error(request.text == "lost" ? rpc_errc::lost : rpc_errc::not_sent, "a call of the handler");
    co_return request;
  };
  const auto at_once = [](const Text& request) -> Text {
    distrib::throw_error(request.text == "lost" ? rpc_errc::lost : rpc_errc::not_sent, "a call of the handler");
  };
  RpcServer server{context.get_executor(), distrib::Address{"127.0.0.1", 0},
                   Router{on<Echo>(later), on<Twice>(at_once)}};
  RpcClient client{loopback::connect(context, server.port())};
  int answers = 0;
  const auto told = [&](const std::error_code& ec, const Text&) {
    CHECK(ec == distrib::failure::unavailable);
    CHECK(ec.category() == distrib::remote_category());
    ++answers;
  };
  for (const char* text : {"lost", "not sent"}) {
    client.async_call<Echo>({text}, 10s, told);
    client.async_call<Twice>({text}, 10s, told);
  }
  while (answers < 4) context.run_one();
}

TEST_CASE("HandlerResult: what is no system_error comes out of run, and its call has failed", "[rpc]") {
  asio::io_context context{1};
  const auto breaks = [](Text) -> asio::awaitable<Text> {
    co_await pause(1ms);
    throw std::runtime_error{"a bug"};
  };
  const auto breaks_with_call = [](Text, auto) -> asio::awaitable<void> {
    co_await pause(1ms);
    throw std::runtime_error{"a bug"};
  };
  RpcServer server{context.get_executor(), distrib::Address{"127.0.0.1", 0},
                   Router{on<Echo>(breaks), on<Twice>(breaks_with_call), on<messages::Count>(breaks_with_call)}};
  RpcClient client{loopback::connect(context, server.port())};
  std::optional<std::error_code> told;
  const auto fails = [&] {
    CHECK_THROWS_WITH(context.run_for(5s), "a bug");
    while (!told) context.run_one();
    CHECK(std::exchange(told, std::nullopt) == distrib::failure::io);
  };
  client.async_call<Echo>({"a"}, {}, [&](std::error_code ec, const Text&) { told = ec; });
  fails();
  client.async_call<Twice>({"a"}, {}, [&](std::error_code ec, const Text&) { told = ec; });
  fails();
  auto stream = client.open<messages::Count>({"a"});
  stream.async_read([&](std::error_code ec, const std::optional<messages::Bulk>&) { told = ec; });
  fails();
}
