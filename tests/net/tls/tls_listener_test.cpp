// SPDX-License-Identifier: Apache-2.0
#if __has_include(<openssl/ssl.h>)
#include <distrib/net/tls/tls_listener.hpp>

#include <distrib/net/tls/tls_connect.hpp>

#include "support/catch.hpp"
#include "support/certificates.hpp"
#include "support/loopback.hpp"

#include <chrono>
#include <filesystem>
#include <memory>
#include <optional>
#include <string>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;
using support::run_until;

namespace {

struct House {
  explicit House(TlsAccept how) : accept{std::move(how)} {
    accept.refused = [this](const Error& error) { refused.push_back(error); };
    open();
  }
  House() : House{TlsAccept{TlsContext{TlsSide::server, authority().issue("server", "DNS:localhost,IP:127.0.0.1")}}} {}

  static auto authority() -> const support::Authority& {
    static const support::Authority ours{"ours"};
    return ours;
  }

  void open() {
    listener.reset();
    listener = std::make_unique<TlsListener>(
        context.get_executor(), Address{"127.0.0.1", 0},
        [this](TlsStream stream) { streams.push_back(std::move(stream)); }, accept);
  }
  auto guest() -> TcpSocket {
    TcpSocket socket{context.get_executor()};
    socket.connect({asio::ip::address_v4::loopback(), listener->port()});
    return socket;
  }
  /// Returns a client whose handshake succeeds.
  auto connector() -> std::unique_ptr<TlsConnector> {
    return std::make_unique<TlsConnector>(
        context.get_executor(), Address{"127.0.0.1", listener->port()}, ConnectOptions{},
        [this](const Error& error, std::optional<TlsStream> stream) {
          CHECK_FALSE(error);
          if (stream) guests.push_back(*std::move(stream));
        },
        TlsConnect{TlsContext{TlsSide::client, {{}, {}, authority().file()}}});
  }

  asio::io_context context{1};
  TlsAccept accept;
  std::vector<TlsStream> streams;
  std::vector<TlsStream> guests;
  std::vector<Error> refused;
  std::unique_ptr<TlsListener> listener;
};

}  // namespace

TEST_CASE("TlsListener: passes on streams after their handshake, also while other handshakes fail", "[net][tls]") {
  House house;
  TcpSocket silent = house.guest();
  TcpSocket garbage = house.guest();
  asio::write(garbage, asio::buffer(std::string(1000, 'G')));
  TcpSocket gone = house.guest();
  gone.close();
  const auto connector = house.connector();
  run_until(house.context, [&] { return house.streams.size() == 1 && house.guests.size() == 1; });
  run_until(house.context, [&] { return house.refused.size() == 2; });
  for (const Error& error : house.refused) {
    CHECK(error.code == net_errc::no_tls);
    CHECK_THAT(error.where, ContainsSubstring("127.0.0.1:"));
  }
  CHECK(house.listener->handshakes() == 1);  // the silent client
  asio::write(house.streams[0], asio::buffer("hello", 5));
  char text[5];
  asio::read(house.guests[0], asio::buffer(text));
  CHECK(std::string(text, 5) == "hello");
}

TEST_CASE("TlsListener: a silent client is closed after handshake_within", "[net][tls]") {
  House house;
  house.accept.handshake_within = 30ms;
  house.open();
  TcpSocket silent = house.guest();
  run_until(house.context, [&] { return !house.refused.empty(); });
  CHECK(house.refused[0].code == net_errc::timed_out);
  char text[1];
  std::error_code ec;
  CHECK(silent.read_some(asio::buffer(text), ec) == 0);
  CHECK(ec == asio::error::eof);
  CHECK(house.listener->handshakes() == 0);
}

TEST_CASE("TlsListener: the longest time means without a limit", "[net][tls]") {
  House house;
  house.accept.handshake_within = std::chrono::milliseconds::max();
  house.open();
  const auto connector = house.connector();
  run_until(house.context, [&] { return house.streams.size() == 1 && house.guests.size() == 1; });
  CHECK(house.refused.empty());
}

TEST_CASE("TlsListener: refuses all clients until the certificates can be read", "[net][tls]") {
  const TlsFiles files = House::authority().issue("late", "DNS:localhost,IP:127.0.0.1");
  const std::string away = files.certificate + ".away";
  std::filesystem::rename(files.certificate, away);
  Error error;
  House house{TlsAccept{TlsContext{TlsSide::server, files, error}}};
  REQUIRE(error);
  TcpSocket guest = house.guest();
  run_until(house.context, [&] { return house.refused.size() == 1; });
  CHECK(house.refused[0].code == net_errc::bad_tls_file);
  CHECK_THAT(house.refused[0].where, ContainsSubstring("127.0.0.1:"));
  CHECK(house.listener->handshakes() == 0);
  std::filesystem::rename(away, files.certificate);
  house.accept.context.reload();
  const auto connector = house.connector();
  run_until(house.context, [&] { return house.streams.size() == 1; });
}

TEST_CASE("TlsListener: never more than max_handshakes at once", "[net][tls]") {
  House house;
  house.accept.max_handshakes = 2;
  house.open();
  TcpSocket first = house.guest();
  TcpSocket second = house.guest();
  TcpSocket third = house.guest();
  bool closed = false;
  char text[1];
  third.async_read_some(asio::buffer(text),
                        [&](const std::error_code& ec, std::size_t) { closed = static_cast<bool>(ec); });
  run_until(house.context, [&] { return closed; });
  CHECK(house.listener->handshakes() == 2);
  first.close();
  run_until(house.context, [&] { return house.listener->handshakes() == 1; });
  const auto connector = house.connector();
  run_until(house.context, [&] { return house.streams.size() == 1; });
}

TEST_CASE("TlsListener: closed in the middle of handshakes, it calls nothing", "[net][tls]") {
  House house;
  TcpSocket silent = house.guest();
  run_until(house.context, [&] { return house.listener->handshakes() == 1; });
  SECTION("by close") { house.listener->close(); }
  SECTION("by its destructor") { house.listener.reset(); }
  house.context.restart();
  house.context.run();
  CHECK(house.refused.empty());
  CHECK(house.streams.empty());
}

TEST_CASE("TlsListener: may be destroyed inside its callback", "[net][tls]") {
  House house;
  std::unique_ptr<TlsListener> listener;
  bool called = false;
  listener = std::make_unique<TlsListener>(
      house.context.get_executor(), Address{"127.0.0.1", 0},
      [&](TlsStream) {
        listener.reset();
        called = true;
      },
      house.accept);
  house.listener = std::move(listener);
  const auto connector = house.connector();
  listener = std::move(house.listener);
  run_until(house.context, [&] { return called && house.guests.size() == 1; });
}
#endif
