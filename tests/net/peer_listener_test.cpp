// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/peer_listener.hpp>

#include <distrib/net/peer_connector.hpp>

#include "support/catch.hpp"
#include "support/loopback.hpp"
#if __has_include(<openssl/ssl.h>)
#include "net/tls/tls_ends.hpp"
#endif

#include <algorithm>
#include <array>
#include <chrono>
#include <deque>
#include <filesystem>
#include <iterator>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

using namespace distrib;
using namespace std::chrono_literals;
using support::run_until;

namespace {

/// A listener, and what it has passed on.
struct Hall {
  explicit Hall(PeerListenerOptions how = {}) : options{std::move(how)} {
    options.refused = [this](const Error& error) { refused.push_back(error); };
    open();
  }
  void open() {
    listener.reset();
    listener = std::make_unique<PeerListener>(
        context.get_executor(), Address{"127.0.0.1", 0},
        [this](PeerStream stream) { streams.push_back(std::move(stream)); }, options);
  }
  auto guest(const std::string& says = {}) -> TcpSocket {
    TcpSocket socket{context.get_executor()};
    socket.connect({asio::ip::address_v4::loopback(), listener->port()});
    if (!says.empty()) asio::write(socket, asio::buffer(says));
    return socket;
  }
  /// True if the listener has closed the connection of a guest.
  static auto is_closed(TcpSocket& guest) -> bool {
    guest.non_blocking(true);
    std::array<char, 1> byte{};
    std::error_code ec;
    guest.read_some(asio::buffer(byte), ec);
    return ec != asio::error::would_block;
  }

  asio::io_context context{1};
  PeerListenerOptions options;
  std::vector<PeerStream> streams;
  std::vector<Error> refused;
  std::unique_ptr<PeerListener> listener;
};

const std::string half_hello{"\x16\x03\x01\x02\x00\x01", 6};

/// Returns the number of files and sockets that this process has open.
auto open_files() -> std::size_t {
  const std::filesystem::directory_iterator files{"/proc/self/fd"};
  return static_cast<std::size_t>(std::distance(begin(files), end(files)));
}

}  // namespace

TEST_CASE("PeerListener: without a transport it passes on every connection at once", "[net]") {
  Hall hall;
  const auto before = support::now();
  const TcpSocket guest = hall.guest();
  run_until(hall.context, [&] { return hall.streams.size() == 1; });
  CHECK_FALSE(hall.streams[0].is_secure());
  CHECK(hall.streams[0].begun() >= before);
  CHECK(hall.listener->handshakes() == 0);
  CHECK(hall.listener->is_open());
  hall.listener->close();
  CHECK_FALSE(hall.listener->is_open());
}

#if __has_include(<openssl/ssl.h>)
namespace {

struct SecureHall : Hall {
  explicit SecureHall(PeerListenerOptions how = {}) : Hall{with_tls(std::move(how))} {}
  static auto with_tls(PeerListenerOptions how) -> PeerListenerOptions {
    how.transport = tls_ends::ours();
    return how;
  }
  /// Returns a client whose handshake succeeds.
  auto connector() -> std::unique_ptr<PeerConnector> {
    return std::make_unique<PeerConnector>(
        context.get_executor(), Address{"127.0.0.1", listener->port()}, ConnectOptions{},
        [this](const Error& error, std::optional<PeerStream> stream) {
          CHECK_FALSE(error);
          if (stream) guests.push_back(*std::move(stream));
        },
        PeerSecurity{tls_ends::ours()});
  }
  std::vector<PeerStream> guests;
};

}  // namespace

TEST_CASE("PeerListener: passes on streams after their handshake, also while other handshakes fail", "[net][tls]") {
  SecureHall hall;
  const TcpSocket silent = hall.guest();
  const TcpSocket garbage = hall.guest(std::string(1000, 'G'));
  hall.guest().close();  // not worth a report
  const auto connector = hall.connector();
  run_until(hall.context,
            [&] { return hall.streams.size() == 1 && hall.guests.size() == 1 && hall.refused.size() == 1; });
  CHECK(hall.streams[0].is_secure());
  CHECK(hall.refused[0].code == net_errc::no_tls);
  CHECK_THAT(hall.refused[0].where, ContainsSubstring("127.0.0.1:"));
  CHECK(hall.listener->handshakes() == 1);  // the silent client
}

TEST_CASE("PeerListener: a client that does not finish is closed in time; a silent one is not reported", "[net][tls]") {
  PeerListenerOptions options;
  options.handshake_within = 30ms;
  SecureHall hall{options};
  TcpSocket silent = hall.guest();
  TcpSocket half = hall.guest(half_hello);
  run_until(hall.context, [&] { return hall.listener->handshakes() == 2; });
  run_until(hall.context, [&] { return hall.listener->handshakes() == 0; });
  REQUIRE(hall.refused.size() == 1);
  CHECK(hall.refused[0].code == net_errc::timed_out);
  CHECK(Hall::is_closed(silent));
  CHECK(Hall::is_closed(half));
}

TEST_CASE("PeerListener: the longest time means without a limit", "[net][tls]") {
  PeerListenerOptions options;
  options.handshake_within = std::chrono::milliseconds::max();
  SecureHall hall{options};
  const auto connector = hall.connector();
  run_until(hall.context, [&] { return hall.streams.size() == 1 && hall.guests.size() == 1; });
  CHECK(hall.refused.empty());
}

TEST_CASE("PeerListener: for one more handshake the oldest client that owes bytes is closed", "[net][tls]") {
  PeerListenerOptions options;
  options.max_handshakes = 3;
  SecureHall hall{options};
  TcpSocket half = hall.guest(half_hello);
  run_until(hall.context, [&] { return hall.listener->handshakes() == 1; });
  TcpSocket second = hall.guest();
  TcpSocket third = hall.guest();
  run_until(hall.context, [&] { return hall.listener->handshakes() == 3; });
  while (hall.context.poll() != 0) continue;  // the half of a hello has been read
  TcpSocket fourth = hall.guest();
  run_until(hall.context, [&] { return Hall::is_closed(half); });
  CHECK_FALSE(Hall::is_closed(second));
  TcpSocket fifth = hall.guest();
  run_until(hall.context, [&] { return Hall::is_closed(second); });
  CHECK_FALSE(Hall::is_closed(third));
  CHECK(hall.listener->handshakes() == 3);
  const auto connector = hall.connector();
  run_until(hall.context, [&] { return hall.streams.size() == 1 && hall.guests.size() == 1; });
}

TEST_CASE("PeerListener: refused clients that do not leave are closed, the oldest first", "[net][tls]") {
  PeerListenerOptions options;
  options.max_handshakes = 3;
  SecureHall hall{options};
  const std::size_t before = open_files();
  std::vector<TcpSocket> guests;
  for (std::size_t i = 1; i <= 20; ++i) {
    guests.push_back(hall.guest("HELO"));
    run_until(hall.context, [&] { return hall.refused.size() == i; });
    CHECK(open_files() - before <= guests.size() + options.max_handshakes);
  }
  for (TcpSocket& guest : guests) CHECK(Hall::is_closed(guest));  // or about to: the end is sent
  const auto connector = hall.connector();
  run_until(hall.context, [&] { return hall.streams.size() == 1 && hall.guests.size() == 1; });
}

TEST_CASE("PeerListener: a client joins in time beside 10 000 half handshakes", "[net][tls]") {
  PeerListenerOptions options;
  options.max_handshakes = 64;
  SecureHall hall{options};
  constexpr std::size_t most_sockets = 100;  // of the attacker: the oldest ones are given up
  const std::size_t before = open_files();
  std::size_t handshakes = 0;
  std::size_t files = 0;
  const auto watch = [&] {
    handshakes = std::max(handshakes, hall.listener->handshakes());
    files = std::max(files, open_files() - before);
  };
  std::deque<TcpSocket> halves;
  std::unique_ptr<PeerConnector> connector;
  Instant begun{};
  std::chrono::nanoseconds longest{0};
  std::size_t joined = 0;
  for (int i = 0; i < 10'000; ++i) {
    halves.push_back(hall.guest(i % 3 == 0 ? std::string{} : half_hello));
    if (halves.size() > most_sockets) halves.pop_front();
    if (i % 2'000 == 1'000) {
      begun = support::now();
      connector = hall.connector();
    }
    while (hall.context.poll() != 0) continue;
    if (i % 100 == 0) watch();
    if (hall.guests.size() == joined || hall.streams.size() == joined) continue;
    longest = std::max<std::chrono::nanoseconds>(longest, support::now() - begun);
    ++joined;
  }
  run_until(hall.context, [&] { return hall.guests.size() == 5 && hall.streams.size() == 5; });
  CHECK(joined >= 4);  // while the attack went on
  CHECK(longest < 5s);
  CHECK(handshakes <= options.max_handshakes);
  CHECK(files <= most_sockets + options.max_handshakes + 20);
}

TEST_CASE("PeerHandshake: a peer whose bytes have arrived owes none", "[net][tls]") {
  asio::io_context context{1};
  support::SocketPair pair{context};
  const auto handshake = std::make_shared<detail::PeerHandshake>(std::move(pair.socket), "peer");
  handshake->accept(tls_ends::ours(), std::make_shared<const ClientRules>(), {}, support::now() + 60s,
                    [](const Error&, const std::optional<PeerStream>&) {});
  CHECK(handshake->waits_for_peer());
  asio::write(pair.peer, asio::buffer(half_hello));
  while (handshake->waits_for_peer()) continue;  // until the system has delivered them
  context.poll();
  CHECK(handshake->waits_for_peer());  // they are read, and the rest is missing
  handshake->cancel();
}

TEST_CASE("PeerListener: closed in the middle of handshakes, it calls nothing", "[net][tls]") {
  SecureHall hall;
  const TcpSocket silent = hall.guest();
  const TcpSocket half = hall.guest(half_hello);
  run_until(hall.context, [&] { return hall.listener->handshakes() == 2; });
  SECTION("by close") { hall.listener->close(); }
  SECTION("by its destructor") { hall.listener.reset(); }
  hall.context.restart();
  hall.context.run();
  CHECK(hall.refused.empty());
  CHECK(hall.streams.empty());
}

TEST_CASE("PeerListener: may be destroyed inside its callback", "[net][tls]") {
  SecureHall hall;
  std::unique_ptr<PeerListener> listener;
  bool called = false;
  listener = std::make_unique<PeerListener>(
      hall.context.get_executor(), Address{"127.0.0.1", 0},
      [&](const PeerStream&) {
        listener.reset();
        called = true;
      },
      hall.options);
  hall.listener = std::move(listener);
  const auto connector = hall.connector();
  listener = std::move(hall.listener);
  run_until(hall.context, [&] { return called && hall.guests.size() == 1; });
}
#endif
