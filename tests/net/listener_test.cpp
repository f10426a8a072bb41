// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/listener.hpp>

#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <sys/resource.h>
#include <unistd.h>

#include <optional>
#include <stdexcept>
#include <utility>
#include <vector>

using distrib::Address;
using distrib::Listener;
using distrib::net_errc;
using distrib::TcpSocket;
using support::run_until;

namespace {

auto connect_to(asio::io_context& context, const asio::ip::address& host, std::uint16_t port) -> TcpSocket {
  TcpSocket socket{context.get_executor()};
  socket.connect({host, port});
  return socket;
}

const auto localhost = asio::ip::address{asio::ip::address_v4::loopback()};

void nobody(TcpSocket) {}

}  // namespace

TEST_CASE("Listener: passes each socket to the callback until it is closed", "[net]") {
  asio::io_context context{1};
  std::vector<TcpSocket> accepted;
  Listener listener{context.get_executor(), Address{"127.0.0.1", 0},
                    [&](TcpSocket socket) { accepted.push_back(std::move(socket)); }};
  CHECK(listener.is_open());
  REQUIRE(listener.port() != 0);
  const std::uint16_t port = listener.port();
  const auto first = connect_to(context, localhost, port);
  const auto second = connect_to(context, localhost, port);
  run_until(context, [&] { return accepted.size() == 2; });
  CHECK(accepted[0].remote_endpoint() == first.local_endpoint());
  CHECK(accepted[1].remote_endpoint() == second.local_endpoint());

  listener.close();
  CHECK(!listener.is_open());
  CHECK(listener.port() == 0);
  context.run();  // returns, because nothing keeps it busy
  CHECK_THROWS(connect_to(context, localhost, port));
}

TEST_CASE("Listener: listens on addresses of several forms", "[net]") {
  asio::io_context context{1};
  for (const char* text : {":0", "localhost:0", "0.0.0.0:0", "127.0.0.1:0", "*:0"}) {
    CAPTURE(text);
    int count = 0;
    Listener listener{context.get_executor(), Address::parse(text), [&](TcpSocket) { ++count; }};
    TcpSocket socket{context.get_executor()};
    std::error_code ec;
    socket.connect({localhost, listener.port()}, ec);
    if (ec) {  // localhost may be the IPv6 address
      socket.close();
      socket.connect({asio::ip::address_v6::loopback(), listener.port()}, ec);
    }
    REQUIRE(!ec);
    run_until(context, [&] { return count == 1; });
  }
}

TEST_CASE("Listener: listens on this machine only, unless the address is every interface", "[net]") {
  asio::io_context context{1};
  const auto other = asio::ip::make_address("127.0.0.2");  // stands for the address of another interface
  for (const auto& [text, is_heard] : {std::pair{":0", false}, std::pair{"*:0", true}, std::pair{"0.0.0.0:0", true}}) {
    CAPTURE(text);
    const Listener listener{context.get_executor(), Address::parse(text), nobody};
    TcpSocket socket{context.get_executor()};
    std::error_code ec;
    socket.connect({other, listener.port()}, ec);
    CHECK(!ec == is_heard);
  }
}

TEST_CASE("Listener: an address in use is reported with the address", "[net]") {
  asio::io_context context{1};
  const Listener first{context.get_executor(), Address{"127.0.0.1", 0}, nobody};
  const Address same{"127.0.0.1", first.port()};
  std::error_code ec;
  const Listener second{context.get_executor(), same, nobody, ec};
  CHECK(ec == net_errc::address_in_use);
  CHECK(!second.is_open());
  CHECK(second.port() == 0);
  CHECK_THROWS_WITH((Listener{context.get_executor(), same, nobody}),
                    ContainsSubstring(same.to_string() + ": the address is in use"));
  CHECK_THROWS_WITH((Listener{context.get_executor(), Address{"", first.port()}, nobody}),
                    ContainsSubstring("address is in use"));
}

TEST_CASE("Listener: the port is free after close, although its connections linger", "[net]") {
  asio::io_context context{1};
  std::optional<TcpSocket> accepted;
  std::optional<Listener> listener;
  listener.emplace(context.get_executor(), Address{"127.0.0.1", 0},
                   [&](TcpSocket socket) { accepted = std::move(socket); });
  const std::uint16_t port = listener->port();
  auto peer = connect_to(context, localhost, port);
  run_until(context, [&] { return accepted.has_value(); });
  accepted->close();  // closed first, so that the system keeps its port in TIME_WAIT
  peer.close();
  listener.reset();
  CHECK_NOTHROW(listener.emplace(context.get_executor(), Address{"127.0.0.1", port}, nobody));
}

TEST_CASE("Listener: refuses hosts that are not addresses of this machine", "[net]") {
  asio::io_context context{1};
  const struct {
    const char* host;
    net_errc error;
  } rows[] = {
      {"192.0.2.1", net_errc::not_local},  // RFC 5737: reserved for documentation
      {"nobody.invalid", net_errc::unresolved},
  };
  for (const auto& row : rows) {
    CAPTURE(row.host);
    std::error_code ec;
    const Listener listener{context.get_executor(), Address{row.host, 0}, nobody, ec};
    CHECK(ec == row.error);
    CHECK(!listener.is_open());
    CHECK_THROWS_WITH((Listener{context.get_executor(), Address{row.host, 7}, nobody}),
                      ContainsSubstring(std::string{row.host} + ":7"));
  }
  CHECK(context.run() == 0);
}

TEST_CASE("Listener: calls nothing after its destructor", "[net]") {
  asio::io_context context{1};
  std::optional<Listener> listener;
  int count = 0;
  listener.emplace(context.get_executor(), Address{"127.0.0.1", 0}, [&](TcpSocket) {
    ++count;
    listener.reset();  // inside its own callback
  });
  const auto first = connect_to(context, localhost, listener->port());
  const auto second = connect_to(context, localhost, listener->port());
  context.run();
  CHECK(count == 1);

  // A socket that was accepted, but whose handler has not run yet.
  context.restart();
  listener.emplace(context.get_executor(), Address{"127.0.0.1", 0}, [&](TcpSocket) { ++count; });
  const auto third = connect_to(context, localhost, listener->port());
  asio::post(context, [&] { listener.reset(); });
  context.run();
  CHECK(count == 1);
}

TEST_CASE("Listener: an exception of the callback leaves run, and the listener continues", "[net]") {
  asio::io_context context{1};
  int count = 0;
  Listener listener{context.get_executor(), Address{"127.0.0.1", 0}, [&](TcpSocket) {
                      if (++count == 1) throw std::runtime_error{"not this one"};
                    }};
  const auto first = connect_to(context, localhost, listener.port());
  CHECK_THROWS_WITH(context.run(), Equals("not this one"));
  const auto second = connect_to(context, localhost, listener.port());
  run_until(context, [&] { return count == 2; });
}

TEST_CASE("Listener: waits without spinning while no file descriptor is left", "[net]") {
  asio::io_context context{1};
  int count = 0;
  Listener listener{context.get_executor(), Address{"127.0.0.1", 0}, [&](TcpSocket) { ++count; }};
  context.poll();
  CHECK(!listener.last_error());
  const auto peer = connect_to(context, localhost, listener.port());

  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit none = before;
  none.rlim_cur = 0;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  context.restart();
  while (!listener.last_error() && context.run_one() == 1) {
  }
  const std::error_code error = listener.last_error();
  context.poll();
  const std::size_t handlers_meanwhile = context.poll();  // the listener waits, so there is nothing to do
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);

  CHECK(error == std::errc::too_many_files_open);
  CHECK(error == distrib::failure::io);
  CHECK(count == 0);
  CHECK(handlers_meanwhile <= 1);
  run_until(context, [&] { return count == 1; });
  CHECK(!listener.last_error());
}

TEST_CASE("Listener: closed while it waits for a file descriptor", "[net]") {
  asio::io_context context{1};
  Listener listener{context.get_executor(), Address{"127.0.0.1", 0}, nobody};
  const auto peer = connect_to(context, localhost, listener.port());
  rlimit before{};
  REQUIRE(::getrlimit(RLIMIT_NOFILE, &before) == 0);
  rlimit none = before;
  none.rlim_cur = 0;
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &none) == 0);
  while (!listener.last_error() && context.run_one() == 1) {
  }
  REQUIRE(::setrlimit(RLIMIT_NOFILE, &before) == 0);
  listener.close();
  CHECK(context.run() <= 2);
}
