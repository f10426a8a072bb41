// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/server_session.hpp>

#include <distrib/rpc/frame.hpp>
#include <distrib/rpc/rpc_client.hpp>

#include "rpc/messages.hpp"
#include "support/catch.hpp"
#include "support/loopback.hpp"

#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>

#include <array>
#include <string>
#include <vector>

using namespace distrib;
using messages::Echo;
using messages::Text;

namespace {

/// An owner that records events; the test answers the calls.
struct Keeper : ServerSession::Owner {
  void happened(const ServerConnection& session, const ServerEvent& event) override {
    if (event.kind == ServerEvent::Kind::greeted) return;
    kept.push_back(event.call);
    connection = session;
  }
  void closed(const ServerConnection&) override { ++ends; }

  std::vector<std::uint64_t> kept;
  ServerConnection connection;
  int ends = 0;
};

struct SessionEnds {
  SessionEnds() {
    support::SocketPair pair{context};
    sockets = {pair.socket.native_handle(), pair.peer.native_handle()};
    waited = {waits_for_acknowledgements(sockets[0]), waits_for_acknowledgements(sockets[1])};
    session = std::make_shared<ServerSession>(keeper, std::move(pair.socket),
                                              std::make_shared<ServerBudget>(RpcServerOptions{}));
    session->start();
    client.emplace(std::move(pair.peer));
  }
  auto call() -> void {
    client->async_call<Echo>(Text{{"x"}}, {}, [this](std::error_code ec, const Text& text) {
      answers.push_back(ec ? ec.message() : text.text);
    });
  }

  /// True if small writes wait until earlier bytes are acknowledged, which takes 40 ms (Nagle's algorithm).
  static auto waits_for_acknowledgements(int socket) -> bool {
    int at_once = 0;
    ::socklen_t size = sizeof at_once;
    REQUIRE(::getsockopt(socket, IPPROTO_TCP, TCP_NODELAY, &at_once, &size) == 0);
    return at_once == 0;
  }

  asio::io_context context{1};
  std::array<int, 2> sockets{};  // of the session and of the client
  std::array<bool, 2> waited{};  // the state before session and client had the sockets
  Keeper keeper;
  ServerConnection session;
  std::optional<RpcClient> client;
  std::vector<std::string> answers;
};

auto text_head(const std::string& text) -> WireWriter {
  WireWriter head;
  Text{{text}}.encode(head);
  return head;
}

}  // namespace

TEST_CASE("ServerSession: answers from outside of an event are sent, in any order", "[rpc]") {
  SessionEnds ends;
  ends.call();
  ends.call();
  support::run_until(ends.context, [&] { return ends.keeper.kept.size() == 2; });
  ends.session->reply(ends.keeper.kept[1], text_head("second").view(), nullptr);
  ends.session->fail(ends.keeper.kept[0], rpc_errc::exhausted);
  support::run_until(ends.context, [&] { return ends.answers.size() == 2; });
  CHECK(ends.answers[0] == "second");
  CHECK(ends.answers[1] == make_error_code(rpc_errc::exhausted).message());
}

TEST_CASE("ServerSession: after drain it answers its calls, and its end is reported once", "[rpc]") {
  SessionEnds ends;
  ends.call();
  support::run_until(ends.context, [&] { return !ends.keeper.kept.empty(); });
  ends.session->drain(Instant::max());
  CHECK(ends.keeper.ends == 0);
  ends.session->reply(ends.keeper.kept[0], text_head("last").view(), nullptr);
  CHECK(ends.keeper.ends == 1);
  support::run_until(ends.context, [&] { return !ends.answers.empty(); });
  CHECK(ends.answers[0] == "last");
  ends.session->reply(ends.keeper.kept[0], text_head("too late").view(), nullptr);  // ignored
  CHECK(ends.keeper.ends == 1);
}

TEST_CASE("ServerSession: refuse tells the client why", "[rpc]") {
  SessionEnds ends;
  ends.call();
  support::run_until(ends.context, [&] { return !ends.keeper.kept.empty(); });
  ends.session->refuse(rpc_errc::unknown_service, "here");
  CHECK(ends.keeper.ends == 1);
  support::run_until(ends.context, [&] { return !ends.answers.empty(); });
  CHECK(ends.answers[0] == make_error_code(rpc_errc::unknown_service).message());
}

TEST_CASE("ServerSession: after close the owner is not called", "[rpc]") {
  SessionEnds ends;
  ends.call();
  support::run_until(ends.context, [&] { return !ends.keeper.kept.empty(); });
  ends.session->close();
  support::run_until(ends.context, [&] { return !ends.answers.empty(); });
  CHECK(ends.answers[0] == make_error_code(rpc_errc::lost).message());
  CHECK(ends.keeper.ends == 0);
}

TEST_CASE("ServerSession: session and client switch Nagle's algorithm off", "[rpc]") {
  SessionEnds ends;
  for (const std::size_t end : {0U, 1U}) {
    CHECK(ends.waited[end]);
    CHECK_FALSE(SessionEnds::waits_for_acknowledgements(ends.sockets[end]));
  }
}
