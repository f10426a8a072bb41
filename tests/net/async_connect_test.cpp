// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/async_connect.hpp>

#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <distrib/net/error.hpp>

#include <asio/bind_cancellation_slot.hpp>
#include <asio/bind_executor.hpp>
#include <asio/cancellation_signal.hpp>
#include <asio/use_future.hpp>

#include <chrono>
#include <exception>
#include <future>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>

using distrib::Address;
using distrib::async_connect;
using distrib::ConnectOptions;
using distrib::Error;
using distrib::net_errc;
using distrib::TcpSocket;
using support::Acceptor;
using support::TakenPort;
using namespace std::chrono_literals;

namespace {

auto address_of(const Acceptor& acceptor) -> Address { return {"127.0.0.1", acceptor.local_endpoint().port()}; }

/// Options for one attempt: without a server it fails at once.
auto once() -> ConnectOptions { return {.most_tries = 1}; }

/// What a completion handler has received.
struct HeardSocket {
  int calls = 0;
  std::error_code code;
  std::optional<TcpSocket> socket;

  auto listen() {
    return [this](const std::error_code& ec, TcpSocket given) {
      ++calls;
      code = ec;
      socket = std::move(given);
    };
  }
};

/// Runs a coroutine to its end; throws its exception.
void run(asio::io_context& context, asio::awaitable<void> coroutine) {
  bool done = false;
  const auto ended = [&](const std::exception_ptr& thrown) {
    done = true;
    if (thrown) std::rethrow_exception(thrown);
  };
  asio::co_spawn(context, std::move(coroutine), ended);
  context.restart();
  context.run();
  CHECK(done);
}

}  // namespace

TEST_CASE("async_connect: completes a callback", "[net]") {
  asio::io_context context{1};
  HeardSocket heard;
  SECTION("a server listens") {
    Acceptor acceptor{context, support::loopback()};
    async_connect(context.get_executor(), address_of(acceptor), {}, heard.listen());
    CHECK(heard.calls == 0);
    context.run();
    CHECK(heard.calls == 1);
    CHECK(!heard.code);
    const auto peer = acceptor.accept();
    CHECK(heard.socket->local_endpoint() == peer.remote_endpoint());
  }
  SECTION("no server listens until the deadline") {
    const TakenPort taken{context};
    const ConnectOptions options{.deadline = std::chrono::steady_clock::now() + 20ms, .first_pause = 1ms};
    async_connect(context.get_executor(), taken.address(), options, heard.listen());
    context.run();
    CHECK(heard.calls == 1);
    CHECK(heard.code == net_errc::refused);
    CHECK(!heard.socket->is_open());
    CHECK(std::chrono::steady_clock::now() >= options.deadline);
  }
  SECTION("port 0 is a bad address") {
    async_connect(context.get_executor(), Address{"ps0", 0}, {}, heard.listen());
    CHECK(heard.calls == 0);
    context.run();
    CHECK(heard.calls == 1);
    CHECK(heard.code == net_errc::bad_address);
  }
  SECTION("called on the executor, it does not complete inside the call either") {
    asio::post(context, [&] {
      async_connect(context.get_executor(), Address{"ps0", 0}, {}, heard.listen());
      CHECK(heard.calls == 0);
    });
    context.run();
    CHECK(heard.calls == 1);
  }
}

TEST_CASE("async_connect: cancelled while it pauses between attempts", "[net]") {
  asio::io_context context{1};
  const TakenPort taken{context};
  asio::cancellation_signal stop;
  HeardSocket heard;
  ConnectOptions options{.first_pause = 1h};
  const auto type = GENERATE(asio::cancellation_type::terminal, asio::cancellation_type::total);
  options.waiting = [&](const Error&, std::chrono::milliseconds) {
    stop.emit(type);
    stop.emit(type);
    CHECK(heard.calls == 0);
  };
  async_connect(context.get_executor(), taken.address(), options,
                asio::bind_cancellation_slot(stop.slot(), heard.listen()));
  context.run();
  CHECK(heard.calls == 1);
  CHECK(heard.code == std::errc::operation_canceled);
  CHECK(!heard.socket->is_open());
  stop.emit(type);
  context.restart();
  context.run();
  CHECK(heard.calls == 1);
}

TEST_CASE("async_connect: completes once when it is cancelled at any time", "[net]") {
  bool cancelled = false;
  bool connected = false;
  for (int handlers = 0; handlers < 8; ++handlers) {
    asio::io_context context{1};
    Acceptor acceptor{context, support::loopback()};
    asio::cancellation_signal stop;
    HeardSocket heard;
    async_connect(context.get_executor(), address_of(acceptor), {},
                  asio::bind_cancellation_slot(stop.slot(), heard.listen()));
    for (int i = 0; i < handlers && heard.calls == 0; ++i) context.run_one();
    stop.emit(asio::cancellation_type::terminal);
    context.restart();
    context.run();
    CHECK(heard.calls == 1);
    CHECK(heard.socket->is_open() == !heard.code);
    if (heard.code) CHECK(heard.code == std::errc::operation_canceled);
    (heard.code ? cancelled : connected) = true;
    stop.emit(asio::cancellation_type::terminal);
  }
  CHECK(cancelled);
  CHECK(connected);
}

TEST_CASE("async_connect: the handler is called on its own executor", "[net]") {
  asio::io_context context{1};
  asio::io_context elsewhere{1};
  Acceptor acceptor{context, support::loopback()};
  asio::cancellation_signal stop;
  HeardSocket heard;
  const bool cancels = GENERATE(false, true);
  async_connect(
      context.get_executor(), address_of(acceptor), {},
      asio::bind_cancellation_slot(stop.slot(), asio::bind_executor(elsewhere.get_executor(), heard.listen())));
  if (cancels) stop.emit(asio::cancellation_type::terminal);
  while (elsewhere.poll() == 0) {
    elsewhere.restart();
    REQUIRE(context.run_one() == 1);
    CHECK(heard.calls == 0);
  }
  CHECK(heard.calls == 1);
  CHECK(static_cast<bool>(heard.code) == cancels);
}

TEST_CASE("async_connect: everything is released before the handler is called", "[net]") {
  asio::io_context context{1};
  Acceptor acceptor{context, support::loopback()};
  const auto held = std::make_shared<int>();
  ConnectOptions options;
  options.waiting = [held](const Error&, std::chrono::milliseconds) {};
  bool called = false;
  const auto connected = [&](const std::error_code&, const TcpSocket&) {
    called = true;
    CHECK(held.use_count() == 1);
  };
  async_connect(context.get_executor(), address_of(acceptor), std::exchange(options, {}), connected);
  CHECK(held.use_count() > 1);
  context.run();
  CHECK(called);
}

TEST_CASE("async_connect: is dropped when the context is destroyed", "[net]") {
  const auto held = std::make_shared<int>();
  for (int handlers = 0; handlers < 4; ++handlers) {
    asio::cancellation_signal stop;
    {
      asio::io_context context{1};
      const TakenPort taken{context};
      const ConnectOptions options{.first_pause = 1h};
      async_connect(context.get_executor(), taken.address(), options,
                    asio::bind_cancellation_slot(stop.slot(), [held](const std::error_code&, const TcpSocket&) {
                      FAIL("a handler was called after its context was destroyed");
                    }));
      CHECK(held.use_count() == 2);
      for (int i = 0; i < handlers; ++i) context.poll_one();
    }
    CHECK(held.use_count() == 1);
  }
}

TEST_CASE("async_connect: completes a future on another thread", "[net]") {
  asio::io_context context{1};
  Acceptor acceptor{context, support::loopback()};
  const TakenPort taken{context};
  const auto work = asio::make_work_guard(context);
  std::thread thread{[&] { context.run(); }};
  std::future<TcpSocket> connected = async_connect(context.get_executor(), address_of(acceptor), {}, asio::use_future);
  std::future<TcpSocket> refused = async_connect(context.get_executor(), taken.address(), once(), asio::use_future);
  CHECK(connected.get().is_open());
  refused.wait();
  context.stop();
  thread.join();  // before the exception is read: the sanitizer cannot see how libstdc++ counts its owners
  CHECK_THROWS_WITH(refused.get(), Equals(make_error_code(net_errc::refused).message()));
}

namespace {

auto connect(Address address, ConnectOptions options) -> asio::awaitable<void> {
  asio::any_io_executor executor = co_await asio::this_coro::executor;
  auto socket = co_await async_connect(executor, address, options, asio::use_awaitable);
  CHECK(socket.is_open());
  CHECK(socket.get_executor() == executor);
}

auto connect_as_tuple(asio::io_context& context, Address address, ConnectOptions options, std::error_code& code)
    -> asio::awaitable<void> {
  auto [ec, socket] =
      co_await async_connect(context.get_executor(), address, options, distrib::as_tuple(asio::use_awaitable));
  const TcpSocket& plain = socket;  // it has the context's executor type
  CHECK(plain.is_open() == !ec);
  code = ec;
}

}  // namespace

TEST_CASE("async_connect: completes coroutines", "[net]") {
  asio::io_context context{1};
  Acceptor acceptor{context, support::loopback()};
  const TakenPort taken{context};
  SECTION("with exceptions") {
    run(context, connect(address_of(acceptor), {}));
    try {
      run(context, connect(taken.address(), once()));
      FAIL("nothing was thrown");
    } catch (const std::system_error& error) {
      CHECK(error.code() == net_errc::refused);
    }
  }
  SECTION("with codes") {
    std::error_code code = net_errc::bad_address;
    run(context, connect_as_tuple(context, address_of(acceptor), {}, code));
    CHECK(!code);
    run(context, connect_as_tuple(context, taken.address(), once(), code));
    CHECK(code == net_errc::refused);
  }
  SECTION("cancelled") {
    asio::cancellation_signal stop;
    ConnectOptions options{.first_pause = 1h};
    options.waiting = [&](const Error&, std::chrono::milliseconds) { stop.emit(asio::cancellation_type::terminal); };
    std::error_code code;
    bool done = false;
    asio::co_spawn(context, connect_as_tuple(context, taken.address(), options, code),
                   asio::bind_cancellation_slot(stop.slot(), [&](const std::exception_ptr&) { done = true; }));
    context.run();
    CHECK(done);
    CHECK(code == std::errc::operation_canceled);
  }
  SECTION("destroyed with the context") {
    asio::io_context shorter{1};
    asio::co_spawn(shorter, connect(taken.address(), {.first_pause = 1h}), [](const std::exception_ptr&) {});
    for (int i = 0; i < 6; ++i) shorter.poll_one();
  }
}
