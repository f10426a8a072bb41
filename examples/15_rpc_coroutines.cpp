// SPDX-License-Identifier: Apache-2.0
// Coroutines at both ends: a handler and a client that await; exceptions, error codes, a call that is taken back.
#include <distrib/rpc.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <exception>
#include <system_error>

namespace {

using namespace std::chrono_literals;

struct Fraction {
  std::int32_t over, under;  // no padding, no pointers: carried as it lies in memory
};

struct Divide : distrib::Method<"example.Divide", Fraction, std::int32_t> {};
struct Sleep : distrib::Method<"example.Sleep", distrib::Empty, distrib::Empty> {};

// Parameters by value: the caller's are gone when it goes on. What it throws fails the call.
auto divide(Fraction request) -> asio::awaitable<std::int32_t> {
  const auto executor = co_await asio::this_coro::executor;
  asio::steady_timer work{executor, 1ms};
  co_await work.async_wait(asio::use_awaitable);
  if (request.under == 0) distrib::throw_error(std::make_error_code(std::errc::argument_out_of_domain), "Divide");
  co_return request.over / request.under;
}

auto sleep(distrib::RpcClientPool& client, distrib::CallOptions options) -> asio::awaitable<void> {
  const auto [ec, reply] =
      co_await client.async_call<Sleep>(distrib::Empty(), options, distrib::as_tuple(asio::use_awaitable));
  std::printf("sleep: %s\n", ec.message().c_str());
}

auto use(distrib::RpcClientPool& client, asio::cancellation_signal& stop) -> asio::awaitable<void> {
  Fraction fraction{6, 2};
  const std::int32_t three = co_await client.async_call<Divide>(fraction, 5s, asio::use_awaitable);
  std::printf("6 / 2 = %d\n", three);
  try {
    fraction.under = 0;
    co_await client.async_call<Divide>(fraction, 5s, asio::use_awaitable);
  } catch (const std::system_error& error) {
    std::printf("6 / 0: %s\n", error.code().message().c_str());
  }
  co_await sleep(client, 50ms);
  stop.emit(asio::cancellation_type::terminal);
}

}  // namespace

auto main() -> int try {
  asio::io_context context{1};
  distrib::Router router{distrib::on<Divide>(divide), distrib::on<Sleep>([](auto, auto) {})};  // which never answers
  distrib::RpcServer server{context.get_executor(), {"127.0.0.1", 0}, router};
  const std::error_category* const known[] = {&std::generic_category()};  // errors of the server that keep their codes
  distrib::RpcClientPoolOptions options;
  options.client.categories = known;
  distrib::RpcClientPool client{context.get_executor(), {"127.0.0.1", server.port()}, options};

  asio::cancellation_signal stop;
  int running = 2;
  const auto ended = [&](const std::exception_ptr& thrown) {
    if (thrown) std::rethrow_exception(thrown);
    --running;
  };
  asio::co_spawn(context, sleep(client, {}), asio::bind_cancellation_slot(stop.slot(), ended));
  asio::co_spawn(context, use(client, stop), ended);
  while (running > 0) context.run_one();
  return 0;
} catch (const std::exception& error) {
  std::fprintf(stderr, "error: %s\n", error.what());
  return 1;
}
