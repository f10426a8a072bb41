// SPDX-License-Identifier: Apache-2.0
// Coroutines at both ends: a handler and a client that await; exceptions, error codes, a call that is cancelled.
#include <distrib/net/async_connect.hpp>
#include <distrib/rpc.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <system_error>
#include <utility>

namespace {

using namespace std::chrono_literals;

struct Fraction {
  std::int32_t over, under;  // no padding, no pointers: sent as it is in memory
};
struct Divide : distrib::Method<"example.Divide", Fraction, std::int32_t> {};
struct Sleep : distrib::Method<"example.Sleep", distrib::Empty, distrib::Empty> {};

// Parameters by value: when the coroutine continues, the caller's objects no longer exist. An exception fails the call.
auto divide(Fraction request) -> asio::awaitable<std::int32_t> {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer work{executor, 1ms};
  co_await work.async_wait(asio::use_awaitable);
  if (request.under == 0) distrib::throw_error(std::make_error_code(std::errc::argument_out_of_domain), "Divide");
  co_return request.over / request.under;
}

auto sleep(distrib::RpcClient& client, distrib::CallOptions options) -> asio::awaitable<void> {
  const auto [ec, reply] =
      co_await client.async_call<Sleep>(distrib::Empty(), options, distrib::as_tuple(asio::use_awaitable));
  std::printf("sleep: %s\n", ec.message().c_str());
}

auto use(asio::io_context& context, distrib::Address server, asio::cancellation_signal& stop) -> asio::awaitable<void> {
  const distrib::ConnectOptions tries{.deadline = std::chrono::steady_clock::now() + 5s};
  auto socket = co_await distrib::async_connect(context.get_executor(), server, tries, asio::use_awaitable);
  const std::error_category* const known[] = {&std::generic_category()};  // errors of the server that keep their codes
  distrib::RpcClientOptions options;
  options.categories = known;
  distrib::RpcClient client{std::move(socket), options};
  const Fraction good{6, 2}, bad{6, 0};
  const std::int32_t three = co_await client.async_call<Divide>(good, 5s, asio::use_awaitable);
  std::printf("6 / 2 = %d\n", three);
  try {
    co_await client.async_call<Divide>(bad, 5s, asio::use_awaitable);
  } catch (const std::system_error& error) {
    std::printf("6 / 0: %s\n", error.code().message().c_str());
  }
  co_await sleep(client, 50ms);
  asio::post(context, [&stop] { stop.emit(asio::cancellation_type::terminal); });  // while the next call waits
  co_await sleep(client, distrib::CallOptions());
}

}  // namespace

auto main() -> int try {
  asio::io_context context{1};
  distrib::Router router{distrib::on<Divide>(divide), distrib::on<Sleep>([](auto, auto) {})};  // Sleep never answers
  distrib::RpcServer server{context.get_executor(), {"127.0.0.1", 0}, router};
  const auto ended = [&context](const std::exception_ptr& thrown) {
    context.stop();
    if (thrown) std::rethrow_exception(thrown);
  };
  asio::cancellation_signal stop;
  const distrib::Address address{"127.0.0.1", server.port()};
  asio::co_spawn(context, use(context, address, stop), asio::bind_cancellation_slot(stop.slot(), ended));
  context.run();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
