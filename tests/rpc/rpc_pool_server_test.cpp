// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/rpc_pool_server.hpp>

#include <distrib/rpc/router.hpp>
#include <distrib/rpc/rpc_client.hpp>
#include <distrib/rpc/rpc_metrics.hpp>

#include "rpc/loopback.hpp"
#include "rpc/messages.hpp"
#include "rpc/stream.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <asio/write.hpp>

#include <array>
#include <atomic>
#include <functional>
#include <future>
#include <memory>
#include <mutex>
#include <optional>
#include <set>
#include <stdexcept>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;
using loopback::anywhere;
using messages::Echo;
using messages::Store;
using messages::Text;
using support::run_until;

namespace {

/// Answers with the number of its thread; the answer differs if it ever runs on another thread.
auto router_of(std::size_t number) {
  return Router{on<Echo>([number, thread = std::optional<std::thread::id>{}](const Text& request) mutable {
    if (!thread) thread = std::this_thread::get_id();
    return Text{*thread == std::this_thread::get_id() ? request.text + std::to_string(number) : "another thread"};
  })};
}

struct Caller {
  asio::io_context context{1};

  auto ask(RpcClient& client, const std::string& text = "thread ") -> std::string {
    std::optional<std::string> answer;
    client.async_call<Echo>({text}, 30s,
                            [&](std::error_code ec, const Text& reply) { answer = ec ? ec.message() : reply.text; });
    run_until(context, [&] { return answer.has_value(); });
    return *answer;
  }
  auto client(std::uint16_t port, std::uint32_t service = any_service) -> RpcClient {
    RpcClientOptions options;
    options.service = service;
    return RpcClient{loopback::connect(context, port), options};
  }
};

}  // namespace

TEST_CASE("RpcPoolServer: a client that asks for a service is served on its thread, other clients in turn", "[rpc]") {
  IoPool pool{3};
  RpcPoolServer server{pool, anywhere, router_of};
  Caller caller;
  for (std::uint32_t service = 0; service < 3; ++service) {
    RpcClient client = caller.client(server.port(), service);
    for (int i = 0; i < 3; ++i) CHECK(caller.ask(client) == "thread " + std::to_string(service));
  }
  std::set<std::string> threads;
  for (int i = 0; i < 3; ++i) {
    RpcClient client = caller.client(server.port());
    threads.insert(caller.ask(client));
  }
  CHECK(threads == std::set<std::string>{"thread 0", "thread 1", "thread 2"});
  RpcClient nowhere = caller.client(server.port(), 3);
  CHECK_THAT(caller.ask(nowhere), ContainsSubstring("no such service"));
}

namespace {

/// Refuses every client.
struct Refuses {
  void dispatch(const ServerConnection&, const ServerEvent&) const { FAIL("a refused client made a call"); }
  void happened(const ServerConnection& connection, const ServerEvent& event) const {
    if (event.kind == ServerEvent::Kind::greeted) connection->refuse(rpc_errc::exhausted, "not today");
  }
};

}  // namespace

TEST_CASE("RpcPoolServer: a client can be refused after its greeting, on every thread", "[rpc]") {
  IoPool pool{2};
  RpcPoolServer server{pool, anywhere, [](std::size_t) { return Refuses{}; }};
  Caller caller;
  for (std::uint32_t service = 0; service < 4; ++service) {
    RpcClient client = caller.client(server.port(), service % 2);
    CHECK_THAT(caller.ask(client), ContainsSubstring("too many calls"));
  }
}

TEST_CASE("RpcPoolServer: more services than threads", "[rpc]") {
  IoPool pool{2};
  RpcServerOptions options;
  options.services = 5;
  RpcPoolServer server{pool, anywhere, router_of, options};
  Caller caller;
  for (std::uint32_t service = 0; service < 5; ++service) {
    RpcClient client = caller.client(server.port(), service);
    CHECK(caller.ask(client) == "thread " + std::to_string(service % 2));
  }
}

TEST_CASE("RpcPoolServer: with options.threads it uses the first threads of the pool", "[rpc]") {
  IoPool pool{3};
  for (const std::uint32_t threads : {1U, 2U, 3U, 4U}) {
    RpcServerOptions options;
    options.services = 6;
    options.threads = threads;
    RpcPoolServer server{pool, anywhere, router_of, options};
    Caller caller;
    for (std::uint32_t service = 0; service < 6; ++service) {
      RpcClient client = caller.client(server.port(), service);
      CHECK(caller.ask(client) == "thread " + std::to_string(service % std::min(threads, 3U)));
    }
  }
}

TEST_CASE("RpcPoolServer: bytes right after the greeting move with the connection, in pieces of any size", "[rpc]") {
  IoPool pool{2};
  const auto bytes_of = [](std::size_t thread) {
    return Router{on<Store>([thread](const messages::Bulk& bulk) {
      CHECK(thread == 1);
      CHECK(bulk.body->size() == bulk.step);
      return Empty{};
    })};
  };
  RpcPoolServer server{pool, anywhere, bytes_of};
  asio::io_context context{1};
  RpcClientOptions options;
  options.service = 1;
  const auto now = std::chrono::steady_clock::now();
  for (const std::size_t piece : {1UL, 7UL, 100UL, 5'000UL, 1UL << 20}) {
    ClientCore core{options, now};
    unsigned calls = 0;
    for (const std::size_t size : {0UL, 100UL, 4'096UL, 4'097UL, 50'000UL}) {
      if (size == 0) continue;
      WireWriter head;
      messages::Bulk{size, nullptr}.encode(head);
      static_cast<void>(core.call(Store::id, head.view(), FrameBody{stream::body(size)}, {}, now));
      ++calls;
    }
    const auto bytes = stream::take_output(core, now);
    TcpSocket socket = loopback::connect(context, server.port());
    for (std::size_t at = 0; at < bytes.size(); at += piece)
      asio::write(socket, asio::buffer(bytes.data() + at, std::min(piece, bytes.size() - at)));
    unsigned answered = 0;
    std::array<std::byte, 4096> answer{};
    while (answered < calls) {
      const std::size_t count = socket.read_some(asio::buffer(answer));
      for (std::size_t at = 0; at < count;)
        at += stream::give(core, ByteView{answer}.subspan(at, count - at), count, now);
      for (ClientEvent event; core.next(now, event);) {
        CHECK(event.kind != ClientEvent::Kind::failed);
        answered += event.kind == ClientEvent::Kind::reply ? 1U : 0U;
      }
      core.keep();
    }
  }
}

TEST_CASE("RpcPoolServer: destroyed with calls in flight and connections that move, many times", "[rpc]") {
  IoPool pool{3};
  for (int round = 0; round < 60; ++round) {
    Caller caller;
    std::optional<RpcClient> early;
    std::vector<RpcClient> clients;
    std::atomic<int> in_handlers = 0;
    unsigned ends = 0;
    unsigned calls = 0;
    {
      RpcPoolServer server{pool, anywhere, [&in_handlers](std::size_t) {
                             return Router{on<Echo>([&in_handlers](const Text& text) {
                               ++in_handlers;
                               return text;
                             })};
                           }};
      for (unsigned i = 0; i < 6; ++i) {
        clients.push_back(caller.client(server.port(), i % 4 == 3 ? any_service : i % 3));
        for (int k = 0; k < 20; ++k) {
          clients.back().async_call<Echo>({"x"}, {}, [&](std::error_code, const Text&) { ++ends; });
          ++calls;
        }
      }
      if (round % 2 == 0) run_until(caller.context, [&] { return ends != 0; });
      if (round % 3 == 0) server.drain(10s);
    }
    const int heard = in_handlers;
    run_until(caller.context, [&] { return ends == calls; });
    CHECK(in_handlers == heard);  // no handler ran after the destructor
  }
}

TEST_CASE("RpcPoolServer: the observer of each thread gets the calls of that thread", "[rpc]") {
  IoPool pool{2};
  std::array<RpcMetrics<Echo>, 2> metrics;
  Caller caller;
  {
    RpcPoolServer server{pool, anywhere, router_of, {}, [&](std::size_t thread) -> auto& { return metrics[thread]; }};
    RpcClient zero = caller.client(server.port(), 0);
    RpcClient one = caller.client(server.port(), 1);
    for (int i = 0; i < 3; ++i) CHECK(caller.ask(zero) == "thread 0");
    for (int i = 0; i < 5; ++i) CHECK(caller.ask(one) == "thread 1");
  }
  CHECK(metrics[0].of<Echo>().ended == 3);
  CHECK(metrics[1].of<Echo>().ended == 5);
}

TEST_CASE("RpcPoolServer: drains on every thread", "[rpc]") {
  IoPool pool{2};
  std::mutex mutex;
  std::vector<std::function<void()>> kept;
  RpcPoolServer server{pool, anywhere, [&](std::size_t) {
                         return Router{on<Echo>([&](const Text& text, auto call) {
                           const std::scoped_lock lock{mutex};
                           kept.push_back([call = call.from_anywhere(), text] { call.reply(text); });
                         })};
                       }};
  const auto all_kept = [&] {
    const std::scoped_lock lock{mutex};
    return kept.size() == 2;
  };
  Caller caller;
  RpcClient one = caller.client(server.port(), 0);
  RpcClient other = caller.client(server.port(), 1);
  std::vector<std::error_code> ends;
  for (RpcClient* client : {&one, &other})
    client->async_call<Echo>({"x"}, 30s, [&](std::error_code ec, const Text&) { ends.push_back(ec); });
  while (!all_kept()) caller.context.run_one_for(1ms);
  server.drain(30s);
  bool refused = false;
  while (!refused) {  // when the goodbye has arrived
    bool done = false;
    one.async_call<Echo>({"x"}, 30s, [&](std::error_code ec, const Text&) {
      refused = ec == rpc_errc::closed;
      done = true;
    });
    while (!done && caller.context.run_one_for(1ms) != 0) {
    }
    const std::scoped_lock lock{mutex};
    for (const auto& answer : std::exchange(kept, {})) answer();
  }
  run_until(caller.context, [&] { return ends.size() == 2; });
  CHECK(ends == std::vector<std::error_code>(2));
}

TEST_CASE("RpcPoolServer: a connection that moves to a thread that drains is drained there", "[rpc]") {
  IoPool pool{2};
  std::function<void()> in_handler;
  std::promise<void> drains_now;
  RpcPoolServer server{pool, anywhere, [&](std::size_t) {
                         return Router{on<Echo>([&](const Text& text) {
                           if (text.text == "drain") in_handler();
                           return text;
                         })};
                       }};
  in_handler = [&] {  // on the first thread, which has still to move the connection that has just greeted
    server.drain(30s);
    std::promise<void> second_drains;
    asio::post(pool.executor(1), [&] { second_drains.set_value(); });
    second_drains.get_future().wait();
    drains_now.set_value();
  };
  Caller caller;
  TcpSocket socket = loopback::connect(caller.context, server.port());
  RpcClient drains = caller.client(server.port(), 0);
  CHECK(caller.ask(drains, "a") == "a");  // so the other connection was accepted too
  std::promise<void> waits;
  std::promise<void> both_are_there;
  asio::post(pool.executor(0), [&] {
    waits.set_value();
    both_are_there.get_future().wait();
  });
  waits.get_future().wait();
  RpcClientOptions options;
  options.service = 1;
  RpcClient moves{std::move(socket), options};
  drains.async_call<Echo>({"drain"}, {}, [](std::error_code, const Text&) {});
  caller.context.poll();
  both_are_there.set_value();
  drains_now.get_future().wait();
  CHECK(caller.ask(moves, "b") != "b");
}

TEST_CASE("RpcPoolServer: the destructor destroys what the routers own", "[rpc]") {
  const auto alive = std::make_shared<int>();
  const auto owning_router = [&alive](std::size_t) {
    return Router{on<Echo>([alive](const Text& text) { return text; })};
  };
  Caller caller;
  std::optional<IoPool> pool{std::in_place, 2U};
  using Server = RpcPoolServer<decltype(owning_router(0))>;
  std::optional<Server> server;
  SECTION("the threads continue") {
    for (int i = 0; i < 100; ++i) {
      server.emplace(*pool, anywhere, owning_router);
      server.reset();
      CHECK(alive.use_count() == 1);
    }
  }
  SECTION("the server could not listen") {
    server.emplace(*pool, anywhere, owning_router);
    const auto before = alive.use_count();
    CHECK_THROWS_AS((Server{*pool, {"127.0.0.1", server->port()}, owning_router}), std::system_error);
    CHECK(alive.use_count() == before);
    server.reset();
  }
  SECTION("the threads were stopped in the middle of a handler") {
    server.emplace(*pool, anywhere, owning_router);
    RpcClient client = caller.client(server->port(), 1);
    CHECK(caller.ask(client, "a") == "a");
    std::promise<void> begun;
    std::atomic<bool> over = false;
    asio::post(pool->executor(1), [&] {
      begun.set_value();
      std::this_thread::sleep_for(30ms);
      over = true;
    });
    begun.get_future().wait();
    pool->stop();
    server.reset();
    CHECK(over);
    CHECK(alive.use_count() == 1);
    CHECK(caller.ask(client, "a") != "a");  // its connection was closed
  }
  SECTION("an exception of a handler has ended the threads") {
    server.emplace(*pool, anywhere, owning_router);
    RpcClient client = caller.client(server->port(), 1);
    CHECK(caller.ask(client, "a") == "a");
    asio::post(pool->executor(0), [] { throw std::runtime_error{"a handler's own"}; });
    CHECK_THROWS_AS(pool->join(), std::runtime_error);
    server.reset();
    CHECK(alive.use_count() == 1);
    CHECK(caller.ask(client, "a") != "a");
  }
  CHECK(alive.use_count() == 1);
}
