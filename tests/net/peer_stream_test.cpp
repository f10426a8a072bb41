// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/peer_stream.hpp>

#include "net/dribble.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <distrib/net/drive.hpp>

#include <asio/cancellation_signal.hpp>

#include <array>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

using distrib::DriveAction;
using distrib::PeerStream;
using support::run_until;
using support::SocketPair;

namespace {

/// Reads ten bytes, then writes ten.
struct TenAndTen {
  auto next(const std::error_code& ec, std::size_t count) -> DriveAction {
    CHECK_FALSE(ec);
    ++calls;
    if (calls == 1) return DriveAction::read(bytes);
    CHECK(count == 10);
    return calls == 2 ? DriveAction::write(bytes) : DriveAction::done();
  }
  std::array<std::byte, 10> bytes{};
  int calls = 0;
};

}  // namespace

TEST_CASE("PeerStream: plain over a socket, and secure with a layer", "[net]") {
  asio::io_context context{1};
  SocketPair sockets{context};
  const auto before = support::now();
  PeerStream plain = std::move(sockets.socket);
  CHECK_FALSE(plain.is_secure());
  CHECK(plain.binding() == distrib::ChannelBinding{});
  CHECK(plain.begun() >= before);
  const PeerStream secure{std::move(sockets.peer), std::make_unique<support::Dribble>(), before};
  CHECK(secure.is_secure());
  CHECK(secure.binding() != distrib::ChannelBinding{});
  CHECK(secure.begun() == before);
}

TEST_CASE("PeerStream: is driven, plain or through a layer", "[net]") {
  asio::io_context context{1};
  SocketPair sockets{context};
  const bool secure = GENERATE(false, true);
  sockets.socket.non_blocking(true);
  PeerStream stream{std::move(sockets.socket), secure ? std::make_unique<support::Dribble>() : nullptr, support::now()};
  TenAndTen core;
  bool done = false;
  distrib::async_drive(stream, core, [&](const std::error_code& ec) {
    CHECK_FALSE(ec);
    done = true;
  });
  context.poll();
  asio::write(sockets.peer, asio::buffer("0123456789", 10));
  run_until(context, [&] { return done; });
  std::string text(10, ' ');
  asio::read(sockets.peer, asio::buffer(text));
  CHECK(text == "0123456789");
}

TEST_CASE("PeerStream: driven through a layer, it is cancelled, and completes on the handler's executor", "[net]") {
  asio::io_context context{1};
  asio::io_context elsewhere{1};
  SocketPair sockets{context};
  const bool secure = GENERATE(false, true);
  sockets.socket.non_blocking(true);
  PeerStream stream{std::move(sockets.socket), secure ? std::make_unique<support::Dribble>() : nullptr, support::now()};
  struct {
    auto next(const std::error_code& ec, std::size_t) -> DriveAction {
      return std::exchange(is_begun, true) ? DriveAction::done(ec) : DriveAction::read(bytes);
    }
    std::array<std::byte, 10> bytes{};
    bool is_begun = false;
  } core;
  asio::cancellation_signal stop;
  std::optional<std::error_code> end;
  distrib::async_drive(
      stream, core,
      asio::bind_cancellation_slot(
          stop.slot(), asio::bind_executor(elsewhere.get_executor(), [&](const std::error_code& ec) { end = ec; })));
  // A handler may begin on the stream's executor, and then continues on its own.
  const auto run_both = [&] {
    for (std::size_t ran = 1; ran != 0;) {
      context.restart();
      elsewhere.restart();
      const bool was_ended = end.has_value();
      ran = context.poll();
      CHECK(end.has_value() == was_ended);
      ran += elsewhere.poll();
    }
  };
  run_both();
  CHECK_FALSE(end);
  stop.emit(asio::cancellation_type::terminal);
  run_both();
  REQUIRE(end);
  CHECK(*end == std::errc::operation_canceled);
}

TEST_CASE("PeerStream: a wait completes at once, but not inside the call, if the layer holds bytes", "[net]") {
  asio::io_context context{1};
  SocketPair sockets{context};
  sockets.socket.non_blocking(true);
  PeerStream stream{std::move(sockets.socket), std::make_unique<support::Dribble>(), support::now()};
  asio::write(sockets.peer, asio::buffer("ab", 2));
  std::array<std::byte, 8> bytes{};
  std::error_code ec = asio::error::would_block;
  while (ec == asio::error::would_block) {
    ec.clear();
    stream.read_some(distrib::ReadSpace{bytes}, ec);
  }
  bool waited = false;
  stream.async_wait(PeerStream::wait_read, [&](const std::error_code&) { waited = true; });
  CHECK_FALSE(waited);
  context.poll();
  CHECK(waited);
}

TEST_CASE("PeerStream: released to another context with its layer", "[net]") {
  asio::io_context context{1};
  asio::io_context other{1};
  SocketPair sockets{context};
  PeerStream stream{std::move(sockets.socket), std::make_unique<support::Dribble>(), support::now()};
  PeerStream released = stream.release(other.get_executor());
  CHECK(released.is_secure());
  CHECK(released.get_executor() == other.get_executor());
  asio::write(sockets.peer, asio::buffer("x", 1));
  bool waited = false;
  released.async_wait(PeerStream::wait_read, [&](const std::error_code& ec) {
    CHECK_FALSE(ec);
    waited = true;
  });
  run_until(other, [&] { return waited; });
}
