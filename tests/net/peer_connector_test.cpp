// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/peer_connector.hpp>

#include <distrib/net/async_connect.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/peer_listener.hpp>

#include "support/catch.hpp"
#include "support/loopback.hpp"
#if __has_include(<openssl/ssl.h>)
#include "net/tls/tls_ends.hpp"

#include <asio/cancellation_signal.hpp>
#include <asio/use_future.hpp>
#endif

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <thread>
#include <utility>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;
using support::run_until;

namespace {

/// The result of a connector.
struct HeardPeer {
  int calls = 0;
  Error error;
  std::optional<PeerStream> stream;

  auto listen() {
    return [this](const Error& reason, std::optional<PeerStream> given) {
      ++calls;
      error = reason;
      if (given) stream.emplace(*std::move(given));
    };
  }
};

auto port_of_acceptor(const support::Acceptor& acceptor) -> std::uint16_t { return acceptor.local_endpoint().port(); }

}  // namespace

TEST_CASE("PeerConnector: without a transport it is a Connector", "[net]") {
  asio::io_context context{1};
  const PeerListener listener{context.get_executor(), {"127.0.0.1", 0}, [](const PeerStream&) {}};
  HeardPeer heard;
  const PeerConnector connector{context.get_executor(), {"127.0.0.1", listener.port()}, {}, heard.listen()};
  CHECK(heard.calls == 0);
  run_until(context, [&] { return heard.calls == 1; });
  CHECK_FALSE(heard.error);
  REQUIRE(heard.stream);
  CHECK_FALSE(heard.stream->is_secure());
  CHECK_THROWS_AS(PeerConnector(context.get_executor(), {"127.0.0.1", 0}, {}, heard.listen()), std::system_error);
}

#if __has_include(<openssl/ssl.h>)
namespace {

auto secure_listener(asio::io_context& context, const std::string& names = "DNS:localhost") {
  PeerListenerOptions options;
  options.transport = tls_ends::any_of(tls_ends::authority().issue("listener", names));
  return std::make_unique<PeerListener>(
      context.get_executor(), Address{"127.0.0.1", 0}, [](const PeerStream&) {}, options);
}

auto secured(std::string host = {}) -> PeerSecurity { return {tls_ends::ours(), std::move(host)}; }

}  // namespace

TEST_CASE("PeerConnector: the certificate must be for the host of the address, or for the host that is told",
          "[net][tls]") {
  asio::io_context context{1};
  const auto listener = secure_listener(context);
  const struct {
    const char* address;
    const char* host;
    bool accepted;
  } rows[] = {{"localhost", "", true}, {"127.0.0.1", "", false}, {"127.0.0.1", "localhost", true}};
  for (const auto& row : rows) {
    CAPTURE(row.address, row.host);
    HeardPeer heard;
    const Address address{row.address, listener->port()};
    const PeerConnector connector{context.get_executor(), address, {}, heard.listen(), secured(row.host)};
    run_until(context, [&] { return heard.calls == 1; });
    CHECK(heard.stream.has_value() == row.accepted);
    if (row.accepted) continue;
    CHECK(heard.error.code == net_errc::untrusted);
    CHECK(heard.error.where ==
          address.to_string() + " (the server must be 127.0.0.1; the certificate is for localhost)");
  }
}

TEST_CASE("PeerConnector: a server that is silent, has another protocol, or does not exist", "[net][tls]") {
  asio::io_context context{1};
  support::Acceptor acceptor{context, support::loopback()};
  const Address address{"127.0.0.1", port_of_acceptor(acceptor)};
  ConnectOptions options;
  HeardPeer heard;
  std::vector<Error> waits;
  options.waiting = [&](const Error& missing, std::chrono::milliseconds) { waits.push_back(missing); };
  options.first_pause = options.longest_pause = 1ms;
  const auto connect = [&] {
    return std::make_unique<PeerConnector>(context.get_executor(), address, options, heard.listen(), secured());
  };
  SECTION("a silent server, with a deadline") {
    options.deadline = support::now() + 50ms;
    const auto connector = connect();
    run_until(context, [&] { return heard.calls == 1; });
    CHECK(heard.error.code == net_errc::timed_out);
    CHECK_THAT(heard.error.where, ContainsSubstring("in the TLS handshake"));
  }
  SECTION("a silent server, tried again") {
    options.longest_try = 10ms;
    const auto connector = connect();
    run_until(context, [&] { return waits.size() == 2; });
    CHECK(waits[0].code == net_errc::timed_out);
    CHECK(heard.calls == 0);
  }
  SECTION("a silent server, tried once") {
    options.longest_try = 10ms;
    options.most_tries = 1;
    const auto connector = connect();
    run_until(context, [&] { return heard.calls == 1; });
    CHECK(heard.error.code == net_errc::timed_out);
    CHECK(waits.empty());
  }
  SECTION("another protocol: not tried again") {
    acceptor.async_accept([&](const std::error_code&, TcpSocket socket) {
      asio::write(socket, asio::buffer(std::string{"220 mail.example ESMTP\r\n"}));
    });
    const auto connector = connect();
    run_until(context, [&] { return heard.calls == 1; });
    CHECK(heard.error.code == net_errc::no_tls);
  }
  SECTION("the server ends the connection, and is there when it is tried again") {
    acceptor.async_accept([&](const std::error_code&, TcpSocket socket) { socket.close(); });
    const auto connector = connect();
    run_until(context, [&] { return waits.size() == 1; });
    CHECK(waits[0].code == net_errc::broken_handshake);
    acceptor.close();
    PeerListenerOptions how;
    how.transport = tls_ends::ours();
    const PeerListener listener{context.get_executor(), address, [](const PeerStream&) {}, how};
    run_until(context, [&] { return heard.calls == 1; });
    CHECK_FALSE(heard.error);
  }
  SECTION("no server") {
    acceptor.close();
    options.deadline = support::now() + 20ms;
    const auto connector = connect();
    run_until(context, [&] { return heard.calls == 1; });
    CHECK(heard.error.code == net_errc::refused);
  }
}

TEST_CASE("PeerConnector: destroyed at any time, it calls nothing", "[net][tls]") {
  for (int handlers = 0; handlers < 12; ++handlers) {
    asio::io_context context{1};
    const auto listener = secure_listener(context);
    HeardPeer heard;
    {
      const Address address{"localhost", listener->port()};
      const PeerConnector connector{context.get_executor(), address, {}, heard.listen(), secured()};
      for (int i = 0; i < handlers && heard.calls == 0; ++i) context.run_one();
    }
    const int calls = heard.calls;
    heard.stream.reset();
    listener->close();
    context.restart();
    context.run();
    CHECK(heard.calls == calls);
  }
}

TEST_CASE("PeerConnector: may be destroyed inside its callback", "[net][tls]") {
  asio::io_context context{1};
  const auto listener = secure_listener(context);
  std::optional<PeerConnector> connector;
  bool called = false;
  connector.emplace(
      context.get_executor(), Address{"localhost", listener->port()}, ConnectOptions{},
      [&](const Error& error, const std::optional<PeerStream>&) {
        CHECK_FALSE(error);
        connector.reset();
        called = true;
      },
      secured());
  run_until(context, [&] { return called; });
}

TEST_CASE("async_connect with a PeerSecurity: completes with each kind of result", "[net][tls]") {
  asio::io_context context{1};
  const auto listener = secure_listener(context);
  support::Acceptor silent{context, support::loopback()};
  const support::TakenPort taken{context};
  ConnectOptions options;
  options.deadline = support::now() + 60s;
  Address address{"localhost", listener->port()};
  PeerSecurity security = secured();
  std::error_code expected;
  SECTION("a stream") {}
  SECTION("a plain stream") { security = {}; }
  SECTION("the server is not accepted") {
    address.host = "127.0.0.1";
    expected = net_errc::untrusted;
  }
  SECTION("a server that is silent in the handshake") {
    address = {"127.0.0.1", port_of_acceptor(silent)};
    options.deadline = support::now() + 50ms;
    expected = net_errc::timed_out;
  }
  SECTION("a server that is silent, tried several times") {
    address = {"127.0.0.1", port_of_acceptor(silent)};
    options.longest_try = options.longest_pause = 5ms;
    options.most_tries = 3;
    expected = net_errc::timed_out;
  }
  SECTION("a server that ends every handshake") {
    address = {"127.0.0.1", port_of_acceptor(silent)};
    silent.async_accept([&](const std::error_code&, TcpSocket socket) { socket.close(); });
    options.most_tries = 1;
    expected = net_errc::broken_handshake;
  }
  SECTION("no server") {
    address = taken.address();
    options.most_tries = 1;
    expected = net_errc::refused;
  }
  SECTION("a bad address") {
    address.port = 0;
    expected = net_errc::bad_address;
  }
  SECTION("a deadline that has passed") {
    address = {"127.0.0.1", port_of_acceptor(silent)};
    options.deadline = support::now() - 1s;
    expected = net_errc::timed_out;
  }
  asio::io_context elsewhere{1};
  int calls = 0;
  const auto connected = [&](const std::error_code& ec, const std::optional<PeerStream>& stream) {
    ++calls;
    CHECK(ec == expected);
    CHECK(stream.has_value() == !ec);
    if (stream) CHECK(stream->is_secure() == (security.transport != nullptr));
  };
  async_connect(context.get_executor(), address, options, security,
                asio::bind_executor(elsewhere.get_executor(), connected));
  while (elsewhere.poll() == 0) {
    elsewhere.restart();
    context.restart();
    REQUIRE(context.run_one() == 1);
    CHECK(calls == 0);
  }
  CHECK(calls == 1);
}

TEST_CASE("async_connect with a PeerSecurity: called on another thread, and dropped with its context", "[net][tls]") {
  {
    asio::io_context context{1};
    const auto listener = secure_listener(context);
    const auto work = asio::make_work_guard(context);
    std::thread thread{[&] { context.run(); }};
    auto stream =
        async_connect(context.get_executor(), Address{"localhost", listener->port()}, {}, secured(), asio::use_future);
    CHECK(stream.get().has_value());
    context.stop();
    thread.join();
  }
  const auto held = std::make_shared<int>();
  for (int handlers = 0; handlers < 8; ++handlers) {
    asio::io_context context{1};
    const support::Acceptor silent{context, support::loopback()};
    async_connect(context.get_executor(), Address{"127.0.0.1", port_of_acceptor(silent)}, {}, secured(),
                  [held](const std::error_code&, const std::optional<PeerStream>&) { FAIL(); });
    for (int i = 0; i < handlers; ++i) context.poll_one();
    CHECK(held.use_count() > 1);
  }
  CHECK(held.use_count() == 1);
}

TEST_CASE("async_connect with a PeerSecurity: completes once, also when it is cancelled at any time", "[net][tls]") {
  bool cancelled = false;
  bool connected = false;
  for (int handlers = 0; handlers < 24; ++handlers) {
    asio::io_context context{1};
    const auto listener = secure_listener(context);
    asio::cancellation_signal stop;
    int calls = 0;
    std::error_code code;
    std::optional<PeerStream> stream;
    async_connect(
        context.get_executor(), Address{"localhost", listener->port()}, {}, secured(),
        asio::bind_cancellation_slot(stop.slot(), [&](const std::error_code& ec, std::optional<PeerStream> made) {
          ++calls;
          code = ec;
          if (made) stream.emplace(*std::move(made));
        }));
    for (int i = 0; i < handlers && calls == 0; ++i) context.run_one();
    stop.emit(asio::cancellation_type::terminal);
    run_until(context, [&] { return calls == 1; });
    CHECK(stream.has_value() == !code);
    if (code) CHECK(code == std::errc::operation_canceled);
    (code ? cancelled : connected) = true;
    stream.reset();
    listener->close();
    context.restart();
    context.run();
    CHECK(calls == 1);
  }
  CHECK(cancelled);
  CHECK(connected);
}
#endif
