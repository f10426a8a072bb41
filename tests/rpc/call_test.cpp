// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/call.hpp>

#include <distrib/rpc/router.hpp>
#include <distrib/rpc/rpc_client.hpp>
#include <distrib/rpc/rpc_server.hpp>

#include "rpc/loopback.hpp"
#include "rpc/messages.hpp"
#include "support/catch.hpp"

#include <asio/bind_cancellation_slot.hpp>
#include <asio/use_future.hpp>

#include <algorithm>
#include <atomic>
#include <chrono>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <vector>

using distrib::on;
using distrib::Router;
using distrib::RpcClient;
using distrib::RpcServer;
using messages::Echo;
using messages::Text;
using namespace std::chrono_literals;

TEST_CASE("Call: may be answered from other threads", "[rpc]") {
  asio::io_context context{1};
  std::vector<std::thread> threads;
  RpcServer server{context.get_executor(), distrib::Address{"127.0.0.1", 0},
                   Router{on<Echo>([&](Text request, auto call) {
                     threads.emplace_back([later = call.from_anywhere(), request] {
                       if (request.text == "bad")
                         return later.fail(std::make_error_code(std::errc::io_error), "disk 1");
                       later.reply({request.text + '!'});
                     });
                   })}};
  RpcClient client{loopback::connect(context, server.port())};
  int open = 9;
  for (int i = 0; i < 8; ++i)
    client.async_call<Echo>({std::to_string(i)}, 10s, [&, i](std::error_code ec, const Text& reply) {
      CHECK_FALSE(ec);
      CHECK(reply.text == std::to_string(i) + '!');
      --open;
    });
  client.async_call<Echo>({"bad"}, 10s, [&](std::error_code ec, const Text&) {
    CHECK(ec == distrib::failure::io);
    --open;
  });
  while (open > 0) context.run_one();
  for (std::thread& thread : threads) thread.join();
}

TEST_CASE("Call: a handler may return the reply, or throw an error", "[rpc]") {
  asio::io_context context{1};
  RpcServer server{context.get_executor(), distrib::Address{"127.0.0.1", 0}, Router{on<Echo>([](Text request) {
                     if (request.text == "bad") distrib::throw_error(distrib::rpc_errc::bad_message, "by me");
                     return Text{request.text + request.text};
                   })}};
  RpcClient client{loopback::connect(context, server.port())};
  auto good = client.async_call<Echo>({"ab"}, 10s, asio::use_future);
  auto bad = client.async_call<Echo>({"bad"}, 10s, asio::use_future);
  while (bad.wait_for(0s) != std::future_status::ready) context.run_one();
  CHECK(good.get().text == "abab");
  CHECK_THROWS_AS(bad.get(), std::system_error);
}

TEST_CASE("Call: is_awaited is true until the call is answered or cancelled, or its connection ends", "[rpc]") {
  asio::io_context context{1};
  std::vector<distrib::Call<Echo, distrib::ServerConnection>> kept;
  Router router{on<Echo>([&](const Text&, const auto& call) { kept.push_back(call); })};
  std::optional<RpcServer<decltype(router)>> server;
  server.emplace(context.get_executor(), distrib::Address{"127.0.0.1", 0}, router);
  std::optional<RpcClient> client;
  client.emplace(loopback::connect(context, server->port()));
  std::vector<asio::cancellation_signal> stops(3);
  for (auto& stop : stops)
    client->async_call<Echo>({"a"}, {}, asio::bind_cancellation_slot(stop.slot(), [](std::error_code, const Text&) {}));
  const auto awaited = [&] { return std::ranges::count_if(kept, [](const auto& call) { return call.is_awaited(); }); };
  while (kept.size() < 3) context.run_one();
  CHECK(awaited() == 3);
  kept[0].reply({});
  CHECK_FALSE(kept[0].is_awaited());
  CHECK(awaited() == 2);
  stops[1].emit(asio::cancellation_type::all);
  while (awaited() == 2) context.run_one();
  CHECK_FALSE(kept[1].is_awaited());
  const bool client_first = GENERATE(true, false);
  if (client_first) client.reset();
  else server.reset();
  while (awaited() == 1) context.run_one();
}

TEST_CASE("Call: the text beside the handler's code reaches a caller that asks for it", "[rpc]") {
  asio::io_context context{1};
  RpcServer server{context.get_executor(), distrib::Address{"127.0.0.1", 0}, Router{on<Echo>([](Text request) {
                     if (request.text == "bad") distrib::throw_error(distrib::rpc_errc::bad_message, "field 3");
                     return request;
                   })}};
  RpcClient client{loopback::connect(context, server.port())};
  std::string said = "of another call";
  std::string other;
  int ended = 0;
  client.async_call<Echo>({"good"}, {10s, "", &said}, [&](std::error_code ec, const Text&) {
    CHECK_FALSE(ec);
    CHECK(said.empty());
    ++ended;
  });
  client.async_call<Echo>({"bad"}, {10s, "", &other}, [&](std::error_code ec, const Text&) {
    CHECK(ec == distrib::rpc_errc::bad_message);
    CHECK(other == "field 3");
    ++ended;
  });
  while (ended < 2) context.run_one();
  client.async_call<Echo>({"bad"}, {10s, "", &said}, [&](std::error_code, const Text&) { ++ended; });
  while (ended < 3) context.run_one();
  CHECK(said == "field 3");
}

TEST_CASE("Call: a call kept on another thread does not keep its connection alive", "[rpc]") {
  asio::io_context context{1};
  std::optional<std::thread> worker;
  std::atomic<bool> client_has_gone = false;
  std::atomic<bool> reply_has_come = false;
  RpcServer server{context.get_executor(), distrib::Address{"127.0.0.1", 0},
                   Router{on<Echo>([&](Text request, auto call) {
                     if (request.text != "work") return call.reply(request);
                     worker.emplace([&, later = std::optional{call.from_anywhere()}]() mutable {
                       while (!client_has_gone) std::this_thread::yield();
                       later->reply({"done"});
                       while (!reply_has_come) std::this_thread::yield();
                       later.reset();
                     });
                   })}};
  std::optional<RpcClient> gone{loopback::connect(context, server.port())};
  RpcClient client{loopback::connect(context, server.port())};
  std::optional<std::error_code> told;
  gone->async_call<Echo>({"work"}, {}, [&](std::error_code ec, const Text&) { told = ec; });
  while (!worker) context.run_one();
  gone.reset();
  while (!told || server.connections() != 1) context.run_one();
  client_has_gone = true;
  int answers = 0;  // meanwhile only this thread changes the data of the server
  for (; answers < 100; context.run_one()) {
    client.async_call<Echo>({"a"}, {}, [&](std::error_code ec, const Text&) { answers += ec ? 0 : 1; });
    reply_has_come = answers > 0;
  }
  worker->join();
  context.poll();
}
