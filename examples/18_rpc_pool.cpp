// SPDX-License-Identifier: Apache-2.0
// A client of a server that starts late, dies in the middle of calls, and starts again.
#include <distrib/rpc.hpp>

#include <chrono>
#include <cstdio>
#include <exception>
#include <functional>
#include <optional>
#include <system_error>
#include <utility>

namespace {

using namespace std::chrono_literals;

struct Get : distrib::Method<"example.Get", distrib::Empty, int> {
  static constexpr bool idempotent = true;  // repeating it is harmless, so it is repeated even after a lost connection
};
struct Add : distrib::Method<"example.Add", int, int> {};

/// The state of a process that survives its server.
struct Process {
  int value = 40;
  bool dies = false;  // the server dies with the next call
  std::function<void()> killed;  // called by a handler
};

auto routes(Process& process) {
  return distrib::Router{distrib::on<Get>([&process](distrib::Empty, auto call) {
                           std::exchange(process.dies, false) ? process.killed() : call.reply(process.value);
                         }),
                         distrib::on<Add>([&process](int number, auto call) {
                           process.value += number;
                           std::exchange(process.dies, false) ? process.killed() : call.reply(process.value);
                         })};
}
using Server = distrib::RpcServer<decltype(routes(std::declval<Process&>()))>;

}  // namespace

auto main() -> int try {
  asio::io_context context{1};
  Process process;
  std::optional<Server> server{std::in_place, context.get_executor(), distrib::Address{"127.0.0.1", 0},
                               routes(process)};
  const distrib::Address address{"127.0.0.1", server->port()};
  server.reset();  // now no process listens there
  const auto start = [&] { server.emplace(context.get_executor(), address, routes(process)); };
  process.killed = [&] { asio::post(context, [&] { server.reset(); }); };

  distrib::RpcClientPoolOptions options;
  options.observer = [&](const distrib::Event& event) {
    std::printf("  (%s)\n", event.code ? event.code.message().c_str() : event.text.c_str());
    if (event.code) asio::post(context, start);
  };
  distrib::RpcClientPool client{context.get_executor(), address, options};

  const auto wait_for = [&](auto call) {
    bool done = false;
    const auto print = [&](std::error_code ec, int value) {
      ec ? std::printf("%s\n", ec.message().c_str()) : std::printf("%d\n", value);
      done = true;
    };
    call(print);
    while (!done) context.run_one();
  };
  wait_for([&](auto print) { client.async_call<Add>(2, 60s, print); });  // waits for the server
  process.dies = true;
  wait_for([&](auto print) { client.async_call<Get>({}, 60s, print); });  // the pool repeats it
  process.dies = true;
  wait_for([&](auto print) { client.async_call<Add>(2, 60s, print); });  // not repeated: it may have been carried out
  wait_for([&](auto print) { client.async_call<Get>({}, 60s, print); });
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
