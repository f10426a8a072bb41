// SPDX-License-Identifier: Apache-2.0
#include "plugin.hpp"

// Two programs whose `main` becomes an ordinary function here.
#define main trainer
#include PROGRAM
#undef main
#define main shelves
#include "../find_package/message/main.cpp"
#undef main

#include <distrib/rpc.hpp>

#include <chrono>
#include <system_error>
#include <thread>

namespace {

struct Echo : distrib::Method<"consumer.Echo", std::string, std::string> {};

auto train() -> bool { return trainer() == 0; }

auto messages() -> bool { return shelves() == 0; }

auto call(unsigned short port) -> bool {
  asio::io_context context{1};
  distrib::RpcClientPool client{context.get_executor(), {"127.0.0.1", port}};
  bool same = false;
  client.async_call<Echo>("hello", std::chrono::seconds{5}, [&](std::error_code ec, const std::string& reply) {
    same = !ec && reply == "hello";
    context.stop();
  });
  context.run();
  return same;
}

auto serve(bool (*use)(unsigned short port)) -> bool {
  asio::io_context context{1};
  distrib::Router router{distrib::on<Echo>([](std::string text) { return text; })};
  distrib::RpcServer server{context.get_executor(), {"127.0.0.1", 0}, router};
  std::thread thread{[&context] { context.run(); }};
  const bool used = use(server.port());
  context.stop();
  thread.join();
  return used;
}

}  // namespace

extern "C" [[gnu::visibility("default")]] auto plugin() -> const Plugin* {
  static const Plugin that{train, messages, call, serve};
  return &that;
}
