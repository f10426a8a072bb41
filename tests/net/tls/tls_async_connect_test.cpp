// SPDX-License-Identifier: Apache-2.0
#if __has_include(<openssl/ssl.h>)
#include <distrib/net/tls/tls_async_connect.hpp>

#include <distrib/net/tls/tls_listener.hpp>

#include "net/tls/tls_ends.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <asio/bind_cancellation_slot.hpp>
#include <asio/cancellation_signal.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

using namespace distrib;
using namespace std::chrono_literals;
using tls_ends::client;
using tls_ends::server;

namespace {

/// What a completion handler has received.
struct HeardStream {
  int calls = 0;
  std::error_code code;
  std::optional<TlsStream> stream;

  auto listen() {
    return [this](const std::error_code& ec, std::optional<TlsStream> given) {
      ++calls;
      code = ec;
      stream = std::move(given);
    };
  }
};

auto connect_with_tls(asio::io_context& context, Address address, std::error_code& code) -> asio::awaitable<void> {
  const TlsConnect tls = client();
  const ConnectOptions options;
  try {
    auto stream = co_await async_connect(context.get_executor(), address, options, tls, asio::use_awaitable);
    CHECK(stream.has_value());
    code = {};
  } catch (const std::system_error& error) {
    code = error.code();
  }
}

}  // namespace

TEST_CASE("async_connect with TLS: completes with a stream or an error", "[net][tls]") {
  asio::io_context context{1};
  const TlsListener listener{context.get_executor(), {"127.0.0.1", 0}, [](TlsStream) {}, server("DNS:localhost")};
  SECTION("a callback") {
    HeardStream heard;
    async_connect(context.get_executor(), Address{"localhost", listener.port()}, {}, client(), heard.listen());
    CHECK(heard.calls == 0);
    support::run_until(context, [&] { return heard.calls == 1; });
    CHECK(!heard.code);
    CHECK(heard.stream);
  }
  SECTION("a coroutine") {
    const struct {
      const char* host;
      std::error_code code;
    } rows[] = {{"localhost", {}}, {"127.0.0.1", net_errc::untrusted}};
    for (const auto& row : rows) {
      std::error_code code = net_errc::bad_address;
      bool done = false;
      asio::co_spawn(context, connect_with_tls(context, Address{row.host, listener.port()}, code),
                     [&](const auto& thrown) {
                       CHECK(!thrown);
                       done = true;
                     });
      support::run_until(context, [&] { return done; });
      CHECK(code == row.code);
    }
  }
  SECTION("certificates that cannot be read") {
    Error unreadable;
    const TlsContext broken{TlsSide::client, {{}, {}, "/nobody.pem"}, unreadable};
    CHECK(unreadable);
    HeardStream heard;
    async_connect(context.get_executor(), Address{"localhost", listener.port()}, {}, {broken}, heard.listen());
    support::run_until(context, [&] { return heard.calls == 1; });
    CHECK(heard.code == net_errc::bad_tls_file);
    CHECK(!heard.stream);
  }
}

TEST_CASE("async_connect with TLS: completes once when it is cancelled at any time", "[net][tls]") {
  bool cancelled = false;
  bool connected = false;
  for (int handlers = 0; handlers < 24; ++handlers) {
    asio::io_context context{1};
    TlsListener listener{context.get_executor(), {"127.0.0.1", 0}, [](TlsStream) {}, server("DNS:localhost")};
    asio::cancellation_signal stop;
    HeardStream heard;
    async_connect(context.get_executor(), Address{"localhost", listener.port()}, {}, client(),
                  asio::bind_cancellation_slot(stop.slot(), heard.listen()));
    for (int i = 0; i < handlers && heard.calls == 0; ++i) context.run_one();
    stop.emit(asio::cancellation_type::terminal);
    support::run_until(context, [&] { return heard.calls == 1; });
    CHECK(heard.stream.has_value() == !heard.code);
    if (heard.code) CHECK(heard.code == std::errc::operation_canceled);
    (heard.code ? cancelled : connected) = true;
    stop.emit(asio::cancellation_type::terminal);
    heard.stream.reset();
    listener.close();
    context.restart();
    context.run();
    CHECK(heard.calls == 1);
  }
  CHECK(cancelled);
  CHECK(connected);
}

TEST_CASE("async_connect with TLS: is dropped when the context is destroyed", "[net][tls]") {
  const auto held = std::make_shared<int>();
  for (int handlers = 0; handlers < 8; ++handlers) {
    asio::io_context context{1};
    support::Acceptor silent{context, support::loopback()};
    const Address address{"127.0.0.1", silent.local_endpoint().port()};
    async_connect(context.get_executor(), address, {}, client(),
                  [held](const std::error_code&, const std::optional<TlsStream>&) { FAIL("the server is silent"); });
    CHECK(held.use_count() == 2);
    for (int i = 0; i < handlers; ++i) context.poll_one();
  }
  CHECK(held.use_count() == 1);
}
#endif
