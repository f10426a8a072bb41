// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/call.hpp>

#include <distrib/rpc/router.hpp>
#include <distrib/rpc/rpc_client.hpp>
#include <distrib/rpc/rpc_server.hpp>

#include "rpc/loopback.hpp"
#include "rpc/messages.hpp"
#include "support/catch.hpp"

#include <asio/use_future.hpp>

#include <chrono>
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

TEST_CASE("Call: answered from other threads", "[rpc]") {
  asio::io_context context{1};
  std::vector<std::thread> threads;
  RpcServer server{context.get_executor(), distrib::Address{"127.0.0.1", 0},
                   Router{on<Echo>([&](Text request, auto call) {
                     threads.emplace_back([later = call.from_anywhere(), request] {
                       if (request.text == "bad") return later.fail(std::make_error_code(std::errc::io_error), "disk 1");
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

TEST_CASE("Call: a handler may return the reply, or throw why there is none", "[rpc]") {
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
