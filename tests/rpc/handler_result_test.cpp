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

auto bad_answer(Text request) -> asio::awaitable<Text> {
  co_await pause(1ms);
  distrib::throw_error(rpc_errc::bad_message, request.text);
  co_return request;
}

/// Makes one call after another, then one that fails.
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
                   Router{on<Echo>(echo), on<Twice>(twice), on<Bad>(bad_answer)}};
  RpcClient client{loopback::connect(context, server.port())};
  bool done = false;
  asio::co_spawn(context, use(client, done), [](const std::exception_ptr& thrown) { CHECK_FALSE(thrown); });
  while (!done) context.run_one();
}

TEST_CASE("HandlerResult: if a call of the handler fails, its caller gets the condition of the code, not the code",
          "[rpc]") {
  asio::io_context context{1};
  const auto later = [](Text request) -> asio::awaitable<Text> {
    co_await pause(1ms);
    distrib::throw_error(static_cast<rpc_errc>(std::stoi(request.text)), "a call of the handler");
    co_return request;
  };
  const auto at_once = [](const Text& request) -> Text {
    distrib::throw_error(static_cast<rpc_errc>(std::stoi(request.text)), "a call of the handler");
  };
  RpcServer server{context.get_executor(), distrib::Address{"127.0.0.1", 0},
                   Router{on<Echo>(later), on<Twice>(at_once)}};
  RpcClient client{loopback::connect(context, server.port())};
  int answers = 0;
  for (const rpc_errc code : {rpc_errc::lost, rpc_errc::not_sent, rpc_errc::closed, rpc_errc::silent,
                              rpc_errc::exhausted, rpc_errc::unknown_method, rpc_errc::unauthorized}) {
    const auto told = [&, code](const std::error_code& ec, const Text&) {
      CHECK(ec.default_error_condition() == std::error_code{code}.default_error_condition());
      CHECK(ec.category() == distrib::remote_category());
      ++answers;
    };
    const std::string text = std::to_string(static_cast<int>(code));
    client.async_call<Echo>({text}, 10s, told);
    client.async_call<Twice>({text}, 10s, told);
  }
  while (answers < 14) context.run_one();
}

TEST_CASE("HandlerResult: an exception that is not a system_error fails the call and leaves run", "[rpc]") {
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

namespace {

/// A message whose codec throws when it writes.
struct Unwritable {
  void encode(distrib::WireWriter&) const { throw std::length_error{"encode"}; }
  [[nodiscard]] auto decode(distrib::ByteView) -> bool { return true; }
};
struct GetUnwritable : distrib::Method<"test.Bad", Text, Unwritable> {};

}  // namespace

TEST_CASE("HandlerResult: a reply whose codec throws fails the call", "[rpc]") {
  asio::io_context context{1};
  const auto give = [](Text) -> asio::awaitable<Unwritable> { co_return Unwritable{}; };
  RpcServer server{context.get_executor(), distrib::Address{"127.0.0.1", 0}, Router{on<GetUnwritable>(give)}};
  RpcClient client{loopback::connect(context, server.port())};
  std::optional<std::error_code> told;
  client.async_call<Bad>({"a"}, {}, [&](std::error_code ec, const Text&) { told = ec; });
  CHECK_THROWS_WITH(context.run_for(5s), "encode");
  while (!told) context.run_one();
  CHECK(*told == distrib::failure::io);
}

namespace {

/// A message whose codec throws when it reads.
struct FragileRequest {
  void encode(distrib::WireWriter&) const {}
  [[nodiscard]] auto decode(distrib::ByteView) -> bool { throw std::length_error{"decode"}; }
};
struct TakeFragile : distrib::Method<"test.TakeFragile", FragileRequest, Text> {};

}  // namespace

TEST_CASE("HandlerResult: an exception of a handler of any form fails its call", "[rpc]") {
  asio::io_context context{1};
  const auto breaks = [](auto&&...) { distrib::throw_error(rpc_errc::bad_message, "the handler's own"); };
  RpcServer server{context.get_executor(), distrib::Address{"127.0.0.1", 0},
                   Router{on<Echo>([&](const Text&, auto) { breaks(); }), on<messages::Sum>([&](auto) { breaks(); }),
                          on<messages::Count>([&](const Text&, auto) { breaks(); }),
                          on<TakeFragile>([](const FragileRequest&) { return Text{}; })}};
  RpcClient client{loopback::connect(context, server.port())};
  int failed = 0;
  const auto fails = [&](std::error_code ec, auto&&) {
    CHECK(ec == rpc_errc::bad_message);
    ++failed;
  };
  client.async_call<Echo>({"a"}, {}, fails);
  client.async_call<TakeFragile>({}, {}, fails);
  auto sum = client.open<messages::Sum>();
  sum.async_finish(fails);
  auto count = client.open<messages::Count>({"a"});
  count.async_read(fails);
  while (failed < 4) context.run_one();
}
