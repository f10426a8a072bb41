// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/connect.hpp>

#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <sys/socket.h>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <stdexcept>
#include <vector>

using distrib::Address;
using distrib::ConnectOptions;
using distrib::Connector;
using distrib::Error;
using distrib::Instant;
using distrib::net_errc;
using distrib::TcpSocket;
using support::Acceptor;
using support::now;
using support::run_until;
using support::TakenPort;
using namespace std::chrono_literals;

namespace {

/// The result of a connector.
struct Answer {
  std::optional<Error> error;
  std::optional<TcpSocket> socket;
  void operator()(const Error& told, std::optional<TcpSocket> connection) {
    REQUIRE(!error);
    error = told;
    socket = std::move(connection);
  }
};

}  // namespace

TEST_CASE("Connector: connects to a server that listens", "[net]") {
  asio::io_context context{1};
  Acceptor acceptor{context, support::loopback()};
  for (const char* host : {"127.0.0.1", "localhost", ""}) {
    CAPTURE(host);
    Answer answer;
    const Connector connector{context.get_executor(),
                              Address{host, acceptor.local_endpoint().port()},
                              {},
                              [&](const Error& error, auto socket) { answer(error, std::move(socket)); }};
    context.restart();
    context.run();
    REQUIRE(answer.error);
    CHECK(!*answer.error);
    const auto peer = acceptor.accept();
    CHECK(answer.socket->local_endpoint() == peer.remote_endpoint());
  }
}

TEST_CASE("Connector: tries until the server listens", "[net]") {
  asio::io_context context{1};
  TakenPort port{context};
  std::vector<Error> missing;
  std::vector<std::chrono::milliseconds> waited;
  ConnectOptions options{.first_pause = 1ms, .longest_pause = 2ms};
  options.waiting = [&](const Error& error, std::chrono::milliseconds time) {
    missing.push_back(error);
    waited.push_back(time);
    if (missing.size() == 4) port.acceptor.listen();
  };
  Answer answer;
  const Connector connector{context.get_executor(), port.address(), options,
                            [&](const Error& error, auto socket) { answer(error, std::move(socket)); }};
  context.run();
  REQUIRE(answer.error);
  CHECK(!*answer.error);
  CHECK(answer.socket->is_open());
  REQUIRE(missing.size() == 4);
  for (const Error& error : missing) {
    CHECK(error.code == net_errc::refused);
    CHECK(error.where == port.address().to_string());
  }
  CHECK(waited[3] >= 5ms);  // pauses of 1, 2 and 2 ms
  CHECK(waited[0] <= waited[3]);
}

TEST_CASE("Connector: a pause with jitter is drawn, up to the whole pause", "[net]") {
  using distrib::detail::drawn_pause;
  CHECK(drawn_pause(100ms, 0, 1) == 100ms);
  CHECK(drawn_pause(1ms, 7, 1) == 1ms);
  CHECK(drawn_pause(0ms, 7, 1) == 0ms);
  auto least = 100ms;
  auto most = 0ms;
  for (std::uint64_t seed = 1; seed < 1000; ++seed) {
    least = std::min(least, drawn_pause(100ms, seed, 1));
    most = std::max(most, drawn_pause(100ms, seed, 1));
  }
  CHECK(least == 1ms);
  CHECK(most == 100ms);
  CHECK(drawn_pause(100ms, 7, 1) != drawn_pause(100ms, 7, 2));
}

TEST_CASE("Connector: waiting gets the address and the reason of each failure", "[net]") {
  asio::io_context context{1};
  const TakenPort taken{context};
  const struct {
    Address address;
    net_errc reason;
  } rows[] = {
      {taken.address(), net_errc::refused},
      {{"nobody.invalid", 2222}, net_errc::unresolved},
      {{"224.0.0.1", 2222}, net_errc::unreachable},  // a multicast address cannot be connected to
  };
  for (const auto& row : rows) {
    CAPTURE(row.address.to_string());
    std::optional<Error> missing;
    Answer answer;
    ConnectOptions options{.longest_try = 1h};  // a name service may be slow
    options.waiting = [&](const Error& error, std::chrono::milliseconds) { missing = error; };
    Connector connector{context.get_executor(), row.address, options,
                        [&](const Error& error, auto socket) { answer(error, std::move(socket)); }};
    run_until(context, [&] { return missing.has_value(); });
    CHECK(missing->code == row.reason);
    CHECK(missing->where == row.address.to_string());
    connector.cancel();
    context.restart();
    context.run();
    CHECK(!answer.error);
  }
}

TEST_CASE("Connector: fails with the reason of the last attempt", "[net]") {
  asio::io_context context{1};
  const TakenPort taken{context};
  Answer answer;
  int tries = 0;
  ConnectOptions options{.deadline = now() + 30ms, .first_pause = 1h};
  options.waiting = [&](const Error&, std::chrono::milliseconds) { ++tries; };
  const Connector connector{context.get_executor(), taken.address(), options,
                            [&](const Error& error, auto socket) { answer(error, std::move(socket)); }};
  context.run();
  REQUIRE(answer.error);
  CHECK(tries <= 1);  // the pause ended with the deadline
  CHECK(answer.error->code == distrib::failure::unavailable);
  CHECK(answer.error->where == taken.address().to_string());
  CHECK(!answer.socket);
  CHECK(now() >= options.deadline);
}

TEST_CASE("Connector: a server that does not answer", "[net]") {
  asio::io_context context{1};
  // A listener that accepts no connection, with a full queue: then the system does not answer further connections.
  Acceptor acceptor{context.get_executor()};
  acceptor.open(asio::ip::tcp::v4());
  acceptor.bind(support::loopback());
  acceptor.listen(0);
  std::vector<TcpSocket> queue;
  for (int i = 0; i < 8; ++i) {
    queue.emplace_back(context.get_executor(), asio::ip::tcp::v4());
    queue.back().non_blocking(true);
    const auto endpoint = acceptor.local_endpoint();
    // only starts to connect
    ::connect(queue.back().native_handle(), endpoint.data(), static_cast<socklen_t>(endpoint.size()));
  }
  const Address address{"127.0.0.1", acceptor.local_endpoint().port()};

  SECTION("gives up at the deadline") {
    Answer answer;
    const ConnectOptions options{.deadline = now() + 20ms};
    const Connector connector{context.get_executor(), address, options,
                              [&](const Error& error, auto socket) { answer(error, std::move(socket)); }};
    context.run();
    REQUIRE(answer.error);
    CHECK(answer.error->code == net_errc::timed_out);
    CHECK(answer.error->where == address.to_string());
    CHECK(now() >= options.deadline);
  }
  SECTION("a new attempt follows after longest_try") {
    Answer answer;
    int tries = 0;
    ConnectOptions options{.first_pause = 1ms, .longest_try = 5ms};
    options.waiting = [&](const Error& error, std::chrono::milliseconds) {
      ++tries;
      CHECK(error.code == net_errc::timed_out);
    };
    Connector connector{context.get_executor(), address, options,
                        [&](const Error& error, auto socket) { answer(error, std::move(socket)); }};
    run_until(context, [&] { return tries == 3; });
    CHECK(!answer.error);
    connector.cancel();
    context.restart();
    context.run();
    CHECK(tries == 3);
    CHECK(!answer.error);
  }
  SECTION("a deadline in the past") {
    Answer answer;
    const Connector connector{
        context.get_executor(), address, {.deadline = Instant::min()}, [&](const Error& error, auto socket) {
          answer(error, std::move(socket));
        }};
    context.run();
    REQUIRE(answer.error);
    CHECK(answer.error->code == net_errc::timed_out);
  }
}

TEST_CASE("Connector: calls nothing after cancel, also inside callbacks and with handlers queued", "[net]") {
  asio::io_context context{1};
  Acceptor acceptor{context, support::loopback()};
  const TakenPort taken{context};
  int called = 0;
  const auto connected = [&](const Error&, std::optional<TcpSocket>) { ++called; };
  std::optional<Connector> connector;

  SECTION("before any handler ran") {
    for (const char* host : {"127.0.0.1", "localhost"}) {
      connector.emplace(context.get_executor(), Address{host, acceptor.local_endpoint().port()}, ConnectOptions{},
                        connected);
      connector->cancel();
      connector->cancel();
    }
  }
  SECTION("when it has connected already") {
    connector.emplace(context.get_executor(), Address{"127.0.0.1", acceptor.local_endpoint().port()}, ConnectOptions{},
                      connected);
    const auto peer = acceptor.accept();
    connector.reset();
  }
  SECTION("inside waiting") {
    ConnectOptions options;
    options.waiting = [&](const Error&, std::chrono::milliseconds) { connector.reset(); };
    connector.emplace(context.get_executor(), taken.address(), options, connected);
  }
  context.run();
  CHECK(called == 0);

  SECTION("destroyed inside its callback") {
    connector.emplace(context.get_executor(), Address{"127.0.0.1", acceptor.local_endpoint().port()}, ConnectOptions{},
                      [&](const Error&, std::optional<TcpSocket> socket) {
                        ++called;
                        connector.reset();
                        CHECK(socket->is_open());
                      });
    context.restart();
    context.run();
    CHECK(called == 1);
  }
}

TEST_CASE("Connector: port 0 throws", "[net]") {
  asio::io_context context{1};
  CHECK_THROWS_WITH((Connector{context.get_executor(), Address{"ps0", 0}, {}, [](const Error&, auto) {}}),
                    ContainsSubstring("ps0:0"));
}

TEST_CASE("Connector: an exception of the callback leaves run", "[net]") {
  asio::io_context context{1};
  Acceptor acceptor{context, support::loopback()};
  const Connector connector{context.get_executor(),
                            Address{"127.0.0.1", acceptor.local_endpoint().port()},
                            {},
                            [](const Error&, std::optional<TcpSocket>) { throw std::runtime_error{"not now"}; }};
  CHECK_THROWS_WITH(context.run(), Equals("not now"));
}

TEST_CASE("Connector: a socket connected to itself is detected", "[net]") {
  asio::io_context context{1};
  TcpSocket alone{context.get_executor(), support::loopback()};
  alone.connect(alone.local_endpoint());  // simultaneous open of TCP
  CHECK(distrib::detail::is_connected_to_itself(alone));
  const support::SocketPair pair{context};
  CHECK(!distrib::detail::is_connected_to_itself(pair.socket));
  CHECK(!distrib::detail::is_connected_to_itself(TcpSocket{context.get_executor()}));
}

TEST_CASE("Connector: never more than most_tries attempts", "[net]") {
  asio::io_context context{1};
  const TakenPort port{context};
  ConnectOptions options{.first_pause = 1ms, .most_tries = 2};
  int waited = 0;
  options.waiting = [&](const Error&, std::chrono::milliseconds) { ++waited; };
  Answer answer;
  const Connector connector{context.get_executor(), port.address(), options,
                            [&](const Error& error, auto socket) { answer(error, std::move(socket)); }};
  context.run();
  REQUIRE(answer.error);
  CHECK(answer.error->code == net_errc::refused);
  CHECK(!answer.socket);
  CHECK(waited == 1);
}

TEST_CASE("Connector: most_tries of 0 means without a limit", "[net]") {
  asio::io_context context{1};
  TakenPort port{context};
  int tries = 0;
  ConnectOptions options{.first_pause = 1ms, .most_tries = 0};
  options.waiting = [&](const Error&, std::chrono::milliseconds) {
    if (++tries == 3) port.acceptor.listen();
  };
  Answer answer;
  const Connector connector{context.get_executor(), port.address(), options,
                            [&](const Error& error, auto socket) { answer(error, std::move(socket)); }};
  context.run();
  CHECK(tries == 3);
  CHECK(answer.socket);
}

TEST_CASE("Connector: the longest time means without a limit", "[net]") {
  constexpr auto for_ever = std::chrono::milliseconds::max();
  asio::io_context context{1};
  TakenPort port{context};
  int tries = 0;
  ConnectOptions options;
  options.first_pause = 1ms;
  options.longest_pause = for_ever;
  options.longest_try = for_ever;
  options.waiting = [&](const Error& missing, std::chrono::milliseconds) {
    CHECK(missing.code == net_errc::refused);
    if (++tries == 3) port.acceptor.listen();
  };
  Answer answer;
  const Connector connector{
      context.get_executor(), {"localhost", port.address().port}, options, [&](const Error& error, auto socket) {
        answer(error, std::move(socket));
      }};
  context.run();
  REQUIRE(answer.error);
  CHECK_FALSE(*answer.error);
}
