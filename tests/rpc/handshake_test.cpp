// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/handshake.hpp>

#include "rpc/pair.hpp"
#include "support/catch.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

using distrib::as_bytes;
using distrib::ByteView;
using distrib::ClientEvent;
using distrib::ClientHandshake;
using distrib::FrameKind;
using distrib::Greeting;
using distrib::rpc_errc;
using distrib::ServerEvent;
using distrib::ServerHandshake;
using distrib::SharedSecret;
using pair::Pair;
using stream::Bytes;
using namespace std::chrono_literals;

namespace {

constexpr std::string_view words = "what only our tasks know";

auto secret(std::string_view bytes = words) -> SharedSecret { return SharedSecret::from_bytes(as_bytes(bytes)); }

auto server_with(SharedSecret given) -> distrib::RpcServerOptions {
  distrib::RpcServerOptions options;
  options.secret = std::move(given);
  return options;
}

auto client_with(SharedSecret given) -> distrib::RpcClientOptions {
  distrib::RpcClientOptions options;
  options.secret = std::move(given);
  return options;
}

/// Client and server with the same secret.
struct Friends : Pair {
  Friends() : Pair{server_with(secret()), client_with(secret())} {}
};

/// Returns the frames in a stream of bytes: header and head.
auto frames_of(const Bytes& bytes) -> std::vector<std::pair<distrib::FrameHeader, std::string>> {
  std::vector<std::pair<distrib::FrameHeader, std::string>> frames;
  distrib::FrameReader reader;
  for (std::size_t at = 0; at < bytes.size();) {
    at += stream::give(reader, ByteView{bytes}.subspan(at), bytes.size());
    for (distrib::Frame frame; reader.next(frame);)
      frames.emplace_back(*frame.header, std::string{distrib::as_text(frame.head)});
    reader.keep();
  }
  return frames;
}

template <class Core>
void give(Pair& pair, Core& core, const Bytes& bytes) {
  REQUIRE(stream::give(core, bytes, bytes.size(), pair.now) == bytes.size());
  pair.take_events();
  core.keep();
}

auto from_client(Pair& pair) -> Bytes { return stream::take_output(pair.client, pair.now); }
auto from_server(Pair& pair) -> Bytes { return stream::take_output(pair.server, pair.now); }

auto greeting(std::string_view head) -> Bytes { return stream::frame({FrameKind::greeting}, head); }

}  // namespace

TEST_CASE("Handshake: a client with the secret is accepted, and the calls that it made before are then sent", "[rpc]") {
  for (const std::size_t piece : {1U, 7U, 1000000U}) {
    Friends pair;
    const auto id = pair.call("test.Echo", "head", stream::body(10'000));
    pair.carry(piece);
    REQUIRE(pair.at_server.size() == 2);
    CHECK(pair.at_server[0].kind == static_cast<int>(ServerEvent::Kind::greeted));
    CHECK(pair.at_server[1].call == id);
    CHECK(pair.at_server[1].body_bytes == 10'000);
    pair.server.reply(id, as_bytes("answer"));
    pair.carry(piece);
    REQUIRE(pair.at_client.size() == 2);
    CHECK(pair.at_client[0].kind == static_cast<int>(ClientEvent::Kind::greeted));
    CHECK(pair.at_client[1].head == "answer");
    pair.call("test.Echo", "another");
    pair.carry(piece);
    CHECK(pair.at_server.back().head == "another");
  }
}

TEST_CASE("Handshake: before the proofs only greetings are sent", "[rpc]") {
  Friends pair;
  const auto taken_back = pair.call("test.Echo");
  pair.call("test.Echo", "head");
  pair.client.cancel(taken_back);
  const auto first = frames_of(from_client(pair));
  REQUIRE(first.size() == 1);
  CHECK(first[0].first.kind == FrameKind::greeting);
  CHECK(pair.client.output().empty());
  pair.now += 11s;
  pair.client.woken(pair.now);
  CHECK(pair.client.output().empty());  // no ping either

  give(pair, pair.server, greeting(first[0].second));
  CHECK(pair.at_server.empty());  // not greeted yet
  give(pair, pair.client, from_server(pair));
  const auto second = frames_of(from_client(pair));
  REQUIRE(second.size() == 4);
  CHECK(second[0].first.kind == FrameKind::greeting);
  CHECK(second[1].first.kind == FrameKind::request);
  CHECK(second[2].first.kind == FrameKind::request);
  CHECK(second[3].first.kind == FrameKind::cancel);
}

TEST_CASE("Handshake: without a secret calls leave with the greeting", "[rpc]") {
  Pair pair;
  pair.call("test.Echo");
  CHECK(frames_of(from_client(pair)).size() == 2);
}

TEST_CASE("Handshake: the client notices a different secret first, and tells the server", "[rpc]") {
  Pair pair{server_with(secret()), client_with(secret("what others know of it"))};
  const auto id = pair.call("test.Echo", "never sent");
  pair.carry();
  CHECK(pair.at_server.empty());
  CHECK(pair.server.reason() == rpc_errc::unauthorized);  // the client sent this code
  REQUIRE(pair.at_client.size() == 1);
  CHECK(pair.at_client[0].call == id);
  CHECK(pair.at_client[0].code == rpc_errc::unauthorized);
  CHECK(pair.at_client[0].where.empty());  // no details
  CHECK(pair.client.finished());
  CHECK(pair.server.finished());
}

TEST_CASE("Handshake: a client that ignores the server's proof and sends no valid proof is refused", "[rpc]") {
  Friends pair;
  give(pair, pair.server, from_client(pair));
  distrib::WireWriter wrong;
  SECTION("a wrong proof") { wrong.bytes(8, std::vector<std::byte>(32, std::byte{1})); }
  SECTION("an empty proof") { wrong.bytes(8, {}); }
  SECTION("no proof") { wrong.varint(1, 1); }
  SECTION("a proof of zeros") { wrong.bytes(8, std::vector<std::byte>(32)); }
  give(pair, pair.server, greeting(distrib::as_text(wrong.view())));
  CHECK(pair.server.finished());
  CHECK(pair.at_server.empty());
  CHECK(pair.server.reason() == rpc_errc::unauthorized);
  pair.carry();
  CHECK(pair.client.reason().code == rpc_errc::unauthorized);
  CHECK(pair.client.reason().where.empty());
}

TEST_CASE("Handshake: a request instead of the proof ends the connection", "[rpc]") {
  Friends pair;
  give(pair, pair.server, from_client(pair));
  give(pair, pair.server, stream::frame({FrameKind::request, 0, 1, 0, 1ULL << 32, 0}, std::string(8, '\1')));
  CHECK(pair.at_server.empty());
  CHECK(pair.server.reason() == rpc_errc::protocol);
}

TEST_CASE("Handshake: if only one end has a secret, the error text says which end has none", "[rpc]") {
  const bool server_has = GENERATE(true, false);
  Pair pair{server_with(server_has ? secret() : SharedSecret{}), client_with(server_has ? SharedSecret{} : secret())};
  pair.call("test.Echo", "head");
  pair.carry();
  CHECK(pair.at_server.empty());
  REQUIRE(pair.at_client.size() == 1);
  CHECK(pair.at_client[0].code == rpc_errc::unauthorized);
  CHECK(pair.server.reason() == rpc_errc::unauthorized);
  const std::string poor = server_has ? "the client has no shared secret" : "the server has no shared secret";
  CHECK_THAT(pair.at_client[0].where, ContainsSubstring(poor));
}

TEST_CASE("Handshake: a client with a secret refuses a server of a release without secrets", "[rpc]") {
  Friends pair;
  const auto id = pair.call("test.Echo", "head");
  CHECK(frames_of(from_client(pair)).size() == 1);
  give(pair, pair.client, greeting(distrib::as_text(Greeting{}.encode())));
  CHECK(pair.at_client.back().call == id);
  CHECK(pair.at_client.back().code == rpc_errc::unauthorized);
  CHECK_THAT(pair.at_client.back().where, ContainsSubstring("the server has no shared secret"));
}

TEST_CASE("Handshake: recorded bytes are refused on another connection", "[rpc]") {
  Friends recorded;
  const Bytes first = from_client(recorded);
  give(recorded, recorded.server, first);
  const Bytes answer = from_server(recorded);
  give(recorded, recorded.client, answer);
  const Bytes second = from_client(recorded);
  give(recorded, recorded.server, second);
  REQUIRE(recorded.at_server.size() == 1);

  {
    Pair replayed;  // a server with another nonce
    replayed.server = distrib::ServerCore{server_with(secret()), replayed.now, pair::nonce('t')};
    give(replayed, replayed.server, first);
    give(replayed, replayed.server, second);
    CHECK(replayed.at_server.empty());
    CHECK(replayed.server.reason() == rpc_errc::unauthorized);
  }
  Pair replayed;  // a client with another nonce
  replayed.client = distrib::ClientCore{client_with(secret()), replayed.now, pair::nonce('d')};
  give(replayed, replayed.client, answer);
  CHECK(replayed.at_client.empty());
  CHECK(replayed.client.reason().code == rpc_errc::unauthorized);
}

TEST_CASE("Handshake: an end refuses its own bytes, sent back to it", "[rpc]") {
  Friends pair;
  const Bytes first = from_client(pair);
  give(pair, pair.server, first);
  const Bytes answer = from_server(pair);
  Greeting said;
  REQUIRE(said.decode(as_bytes(frames_of(answer)[0].second)));
  REQUIRE(said.proof);

  SECTION("the server gets its own proof") {
    distrib::WireWriter reflected;
    reflected.bytes(8, *said.proof);
    give(pair, pair.server, greeting(distrib::as_text(reflected.view())));
    CHECK(pair.at_server.empty());
    CHECK(pair.server.reason() == rpc_errc::unauthorized);
  }
  SECTION("the client gets its own greeting") {
    give(pair, pair.client, first);
    CHECK(pair.at_client.empty());
    CHECK(pair.client.reason().code == rpc_errc::unauthorized);
  }
}

TEST_CASE("Handshake: a change of any bit of a greeting is noticed", "[rpc]") {
  Friends model;
  const Bytes first = from_client(model);
  const std::string head = frames_of(first)[0].second;
  give(model, model.server, first);
  const std::string answer = frames_of(from_server(model))[0].second;

  for (std::size_t bit = 0; bit < head.size() * 8; ++bit) {
    std::string other = head;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
    Friends pair;
    static_cast<void>(from_client(pair));
    give(pair, pair.server, greeting(other));
    if (!pair.server.finished()) {
      give(pair, pair.client, from_server(pair));
      CHECK(pair.client.reason().code == rpc_errc::unauthorized);
    }
    CHECK(pair.at_client.empty());
    CHECK(pair.at_server.empty());
  }
  for (std::size_t bit = 0; bit < answer.size() * 8; ++bit) {
    std::string other = answer;
    other[bit / 8] = static_cast<char>(other[bit / 8] ^ (1 << bit % 8));
    Friends pair;
    static_cast<void>(from_client(pair));
    give(pair, pair.client, greeting(other));
    CAPTURE(bit);
    CHECK(pair.client.finished());
    CHECK(pair.at_client.empty());
  }
}

TEST_CASE("Handshake: the deadline of a call may pass before the handshake is over", "[rpc]") {
  Friends pair;
  const auto id = pair.call("test.Echo", {}, nullptr, 50ms);
  pair.pass(54ms);
  REQUIRE(pair.at_client.size() == 1);
  CHECK(pair.at_client[0].call == id);
  CHECK(pair.at_client[0].code == rpc_errc::deadline_passed);
  pair.carry();
  CHECK_FALSE(pair.client.finished());
  CHECK(pair.server.calls() == 0);
}

TEST_CASE("Handshake: calls on a connection that is lost before the proof fail with not_sent", "[rpc]") {
  Friends pair;
  const auto id = pair.call("test.Echo");
  give(pair, pair.server, from_client(pair));
  pair.client.lost(std::make_error_code(std::errc::connection_reset));
  pair.take_events();
  REQUIRE(pair.at_client.size() == 1);
  CHECK(pair.at_client[0].call == id);
  CHECK(pair.at_client[0].code == rpc_errc::not_sent);
}

TEST_CASE("Handshake: greeting_within ends the handshake at both ends, also if single bytes arrive", "[rpc]") {
  Friends pair;
  const auto id = pair.call("test.Echo");
  const Bytes first = from_client(pair);
  give(pair, pair.server, first);
  const Bytes answer = from_server(pair);
  pair.pass(4999ms);
  CHECK_FALSE(pair.server.finished());
  pair.pass(1ms);  // the time covers the whole handshake, not only its first half
  CHECK(pair.server.reason() == rpc_errc::silent);

  for (std::size_t at = 0; at < 4; ++at) {
    pair.pass(6s);
    CHECK_FALSE(pair.client.finished());
    give(pair, pair.client, {answer[at]});
  }
  pair.pass(1s);
  CHECK(pair.client.reason().code == rpc_errc::silent);
  CHECK(pair.at_client.back().call == id);
  CHECK(pair.at_client.back().code == rpc_errc::not_sent);
}

TEST_CASE("Handshake: close of the client and drain of the server in the middle of a handshake", "[rpc]") {
  {
    Friends pair;
    const auto id = pair.call("test.Echo");
    pair.client.close();  // ends after the calls that exist
    pair.carry();
    CHECK(pair.server.calls() == 1);
    pair.server.reply(id, {});
    pair.carry();
    CHECK(pair.client.finished());
    CHECK(pair.server.finished());
  }
  Friends pair;
  pair.call("test.Echo");
  give(pair, pair.server, from_client(pair));
  pair.server.drain(pair.now);
  pair.carry();
  CHECK(pair.client.reason().code == rpc_errc::closed);
}

TEST_CASE("Handshake: the server reports the reason for which the client has refused it", "[rpc]") {
  Friends pair;
  static_cast<void>(from_client(pair));
  distrib::WireWriter head;
  distrib::encode_error(head, make_error_code(rpc_errc::unauthorized), {});
  give(pair, pair.server, stream::frame({FrameKind::error}, distrib::as_text(head.view())));
  CHECK(pair.server.finished());
  CHECK(pair.server.reason() == rpc_errc::unauthorized);
  CHECK(pair.server.output().empty());
}

TEST_CASE("Handshake: a secret without a nonce throws unauthorized", "[rpc]") {
  for (const bool client : {true, false}) try {
      if (client) static_cast<void>(ClientHandshake{{}, secret(), {}});
      else static_cast<void>(ServerHandshake{{}, 1, secret(), {}});
      FAIL("nothing was thrown");
    } catch (const std::system_error& error) {
      CHECK(error.code() == rpc_errc::unauthorized);
      CHECK_THAT(error.what(), !ContainsSubstring(std::string{words}));
    }
  static_cast<void>(ClientHandshake{{}, {}, {}});
  static_cast<void>(ServerHandshake{{}, 1, {}, {}});
}
