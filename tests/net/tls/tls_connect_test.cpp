// SPDX-License-Identifier: Apache-2.0
#if __has_include(<openssl/ssl.h>)
#include <distrib/net/tls/tls_connect.hpp>

#include <distrib/net/listener.hpp>
#include <distrib/net/tls/tls_listener.hpp>

#include "net/tls/tls_ends.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <chrono>
#include <optional>
#include <string>
#include <system_error>
#include <utility>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;
using support::run_until;
using tls_ends::client;
using tls_ends::server;

namespace {

/// The result of a connector.
struct HeardConnector {
  int calls = 0;
  Error error;
  std::optional<TlsStream> stream;

  auto listen() {
    return [this](const Error& reason, std::optional<TlsStream> given) {
      ++calls;
      error = reason;
      stream = std::move(given);
    };
  }
};

auto port_of(const support::Acceptor& acceptor) -> std::uint16_t { return acceptor.local_endpoint().port(); }

}  // namespace

TEST_CASE("TlsConnector: the certificate must be valid for the host, a name or a number", "[net][tls]") {
  asio::io_context context{1};
  const TlsListener listener{context.get_executor(), {"127.0.0.1", 0}, [](TlsStream) {}, server("DNS:localhost")};
  for (const char* host : {"localhost", "127.0.0.1"}) {
    HeardConnector heard;
    const Address address{host, listener.port()};
    const TlsConnector connector{context.get_executor(), address, {}, heard.listen(), client()};
    CHECK(heard.calls == 0);
    run_until(context, [&] { return heard.calls == 1; });
    if (std::string{host} == "localhost") {
      CHECK_FALSE(heard.error);
      CHECK(heard.stream);
    } else {
      CHECK(heard.error.code == net_errc::untrusted);
      CHECK(heard.error.where == address.to_string() + " (IP address mismatch)");
      CHECK_FALSE(heard.stream);
    }
  }
}

TEST_CASE("TlsConnector: a server that is silent, has another protocol, or does not exist", "[net][tls]") {
  asio::io_context context{1};
  support::Acceptor acceptor{context, support::loopback()};
  ConnectOptions options;
  HeardConnector heard;
  const auto connect = [&] {
    return std::make_unique<TlsConnector>(context.get_executor(), Address{"127.0.0.1", port_of(acceptor)}, options,
                                          heard.listen(), client());
  };
  SECTION("a silent server, with a deadline") {
    options.deadline = std::chrono::steady_clock::now() + 50ms;
    const auto connector = connect();
    run_until(context, [&] { return heard.calls == 1; });
    CHECK(heard.error.code == net_errc::timed_out);
    CHECK_THAT(heard.error.where, ContainsSubstring("in the TLS handshake"));
  }
  SECTION("a silent server, without a deadline") {
    options.longest_try = 50ms;
    const auto connector = connect();
    run_until(context, [&] { return heard.calls == 1; });
    CHECK(heard.error.code == net_errc::timed_out);
  }
  SECTION("another protocol, or a closed connection") {
    const bool speaks = GENERATE(true, false);
    acceptor.async_accept([&](const std::error_code&, TcpSocket socket) {
      if (speaks) asio::write(socket, asio::buffer(std::string{"220 mail.example ESMTP\r\n"}));
      socket.close();
    });
    const auto connector = connect();
    run_until(context, [&] { return heard.calls == 1; });
    CHECK(heard.error.code == net_errc::no_tls);
  }
  SECTION("no server") {
    const Address address{"127.0.0.1", port_of(acceptor)};
    acceptor.close();
    options.deadline = std::chrono::steady_clock::now() + 20ms;
    const TlsConnector connector{context.get_executor(), address, options, heard.listen(), client()};
    run_until(context, [&] { return heard.calls == 1; });
    CHECK(heard.error.code == net_errc::refused);
  }
  CHECK_FALSE(heard.stream);
}

TEST_CASE("TlsConnector: a context whose files cannot be read", "[net][tls]") {
  asio::io_context context{1};
  support::Acceptor acceptor{context, support::loopback()};
  Error unreadable;
  const TlsContext broken{TlsSide::client, {{}, {}, "/nobody.pem"}, unreadable};
  CHECK(unreadable);
  HeardConnector heard;
  const TlsConnector connector{
      context.get_executor(), Address{"127.0.0.1", port_of(acceptor)}, {}, heard.listen(), {broken}};
  run_until(context, [&] { return heard.calls == 1; });
  CHECK(heard.error.code == net_errc::bad_tls_file);
  CHECK_FALSE(heard.stream);
}

TEST_CASE("TlsConnector: destroyed at any time, it calls nothing", "[net][tls]") {
  for (int handlers = 0; handlers < 12; ++handlers) {
    asio::io_context context{1};
    TlsListener listener{context.get_executor(), {"127.0.0.1", 0}, [](TlsStream) {}, server()};
    HeardConnector heard;
    {
      const Address address{"127.0.0.1", listener.port()};
      const TlsConnector connector{context.get_executor(), address, {}, heard.listen(), client()};
      for (int i = 0; i < handlers && heard.calls == 0; ++i) context.run_one();
    }
    const int calls = heard.calls;
    heard.stream.reset();
    listener.close();
    context.restart();
    context.run();
    CHECK(heard.calls == calls);
  }
}

TEST_CASE("TlsConnector: may be destroyed inside its callback", "[net][tls]") {
  asio::io_context context{1};
  const TlsListener listener{context.get_executor(), {"127.0.0.1", 0}, [](TlsStream) {}, server()};
  std::optional<TlsConnector> connector;
  bool called = false;
  connector.emplace(
      context.get_executor(), Address{"127.0.0.1", listener.port()}, ConnectOptions{},
      [&](const Error& error, std::optional<TlsStream>) {
        CHECK_FALSE(error);
        connector.reset();
        called = true;
      },
      client());
  run_until(context, [&] { return called; });
}

TEST_CASE("TlsConnector: the longest time means without a limit", "[net][tls]") {
  asio::io_context context{1};
  const TlsListener listener{context.get_executor(), {"127.0.0.1", 0}, [](TlsStream) {}, server()};
  ConnectOptions options;
  options.longest_try = std::chrono::milliseconds::max();
  HeardConnector heard;
  const Address address{"127.0.0.1", listener.port()};
  const TlsConnector connector{context.get_executor(), address, options, heard.listen(), client()};
  run_until(context, [&] { return heard.calls == 1; });
  CHECK_FALSE(heard.error);
}
#endif
