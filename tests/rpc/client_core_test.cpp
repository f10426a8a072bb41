// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/client_core.hpp>

#include <distrib/rpc/client_options.hpp>
#include <distrib/rpc/server_options.hpp>

#include "rpc/pair.hpp"
#include "support/catch.hpp"

#include <map>

using distrib::ClientEvent;
using distrib::FrameKind;
using distrib::rpc_errc;
using pair::Pair;
using namespace std::chrono_literals;

namespace {

constexpr int kind_greeted = static_cast<int>(ClientEvent::Kind::greeted);
constexpr int kind_reply = static_cast<int>(ClientEvent::Kind::reply);
constexpr int kind_item = static_cast<int>(ClientEvent::Kind::item);
constexpr int kind_ended = static_cast<int>(ClientEvent::Kind::ended);
constexpr int kind_failed = static_cast<int>(ClientEvent::Kind::failed);

enum class bad { habit = 1 };
struct BadCategory final : std::error_category {
  auto name() const noexcept -> const char* override { return "test.bad"; }
  auto message(int) const -> std::string override { return "bad habit"; }
};
const BadCategory bad_category;
const std::error_category* const bad_categories[] = {&bad_category};

}  // namespace

TEST_CASE("RpcClientOptions: the defaults of client and server fit each other", "[rpc]") {
  const distrib::RpcClientOptions client;
  const distrib::RpcServerOptions server;
  CHECK(client.limits.body_bytes <= client.owed_bytes);
  CHECK(client.max_calls <= server.max_calls);
  CHECK(client.ping_after < client.silent_after);
  CHECK(client.ping_after < server.silent_after);  // the pings of the client keep the connection alive
}

TEST_CASE("ClientCore: a call made before the greeting is answered, whatever pieces the bytes arrive in", "[rpc]") {
  for (const std::size_t piece : {1U, 7U, 1000000U}) {
    Pair pair;
    const auto id = pair.call("test.Echo", "head", stream::body(10'000));
    pair.carry(piece);
    REQUIRE(pair.at_server.size() == 2);
    CHECK(pair.at_server[1].call == id);
    CHECK(pair.at_server[1].method == distrib::method_id("test.Echo"));
    CHECK(pair.at_server[1].head == "head");
    CHECK(pair.at_server[1].body_bytes == 10'000);
    pair.server.reply(id, distrib::as_bytes("answer"), stream::body(5));
    pair.carry(piece);
    REQUIRE(pair.at_client.size() == 2);
    CHECK(pair.at_client[0].kind == kind_greeted);
    CHECK(pair.at_client[1].kind == kind_reply);
    CHECK(pair.at_client[1].call == id);
    CHECK(pair.at_client[1].head == "answer");
    CHECK(pair.at_client[1].body_bytes == 5);
    CHECK(pair.client.calls() == 0);
    CHECK(pair.server.calls() == 0);
  }
}

TEST_CASE("ClientCore: replies may arrive in any order, and a late reply never reaches a newer call", "[rpc]") {
  Pair pair;
  const auto first = pair.call("a");
  const auto second = pair.call("b");
  pair.carry();
  pair.server.reply(second, distrib::as_bytes("2"));
  pair.carry();
  CHECK(pair.at_client.back().call == second);

  // The answer to `first` is under way when `first` is cancelled and its slot is reused.
  pair.server.reply(first, distrib::as_bytes("late"));
  const auto late = stream::take_output(pair.server, pair.now);
  pair.client.cancel(first);
  pair.take_events();
  CHECK(pair.at_client.back().code == rpc_errc::cancelled);
  pair.client.cancel(first);  // no effect: the call is over
  const auto third = pair.call("c");
  CHECK(static_cast<std::uint32_t>(third) == static_cast<std::uint32_t>(first));
  CHECK(third != first);
  const std::size_t before = pair.at_client.size();
  CHECK(stream::give(pair.client, late, late.size(), pair.now) == late.size());
  pair.take_events();
  CHECK(pair.at_client.size() == before);
  pair.carry();
  pair.server.reply(third, distrib::as_bytes("3"));
  pair.carry();
  CHECK(pair.at_client.back().head == "3");
}

TEST_CASE("ClientCore: errors of the server keep their category if the client knows it", "[rpc]") {
  distrib::RpcClientOptions options;
  options.categories = bad_categories;
  for (const bool known : {true, false}) {
    Pair pair{distrib::RpcServerOptions{}, known ? options : distrib::RpcClientOptions{}};
    const auto id = pair.call("a");
    pair.carry();
    pair.server.fail(id, {static_cast<int>(bad::habit), bad_category}, "rank 3");
    pair.carry();
    const pair::Seen& seen = pair.at_client.back();
    CHECK(seen.kind == kind_failed);
    CHECK(seen.code.category() == (known ? bad_category : distrib::remote_category()));
    CHECK_THAT(seen.where, ContainsSubstring("rank 3"));
    if (!known) CHECK_THAT(seen.where, ContainsSubstring("test.bad 1"));
  }
}

TEST_CASE("ClientCore: a deadline ends only its own call, also at the server", "[rpc]") {
  Pair pair;
  const auto slow = pair.call("a", {}, nullptr, 50ms);
  const auto other = pair.call("b", {}, nullptr, 5000ms);
  pair.carry();
  REQUIRE(pair.client.wake());
  CHECK(*pair.client.wake() >= pair.now + 50ms);
  CHECK(*pair.client.wake() <= pair.now + 54ms);
  pair.pass(54ms);
  CHECK(pair.at_client.back().call == slow);
  CHECK(pair.at_client.back().code == rpc_errc::deadline_passed);
  pair.carry();
  CHECK(pair.at_server.back().kind == static_cast<int>(distrib::ServerEvent::Kind::cancelled));
  CHECK(pair.server.calls() == 1);
  pair.server.reply(slow, {});  // too late
  pair.server.reply(other, {});
  pair.carry();
  CHECK(pair.at_client.back().call == other);
  CHECK(pair.at_client.back().kind == kind_reply);

  const auto past = pair.client.call(1, {}, nullptr, pair.now, pair.now);
  const std::size_t before = pair.at_server.size();
  pair.carry();
  CHECK(pair.at_client.back().call == past);
  CHECK(pair.at_client.back().code == rpc_errc::deadline_passed);
  CHECK(pair.at_server.size() == before);
}

TEST_CASE("ClientCore: ten thousand answered calls with far deadlines leave no call open", "[rpc]") {
  Pair pair;
  for (int i = 0; i < 10'000; ++i) {
    const auto id = pair.call("a", {}, nullptr, 1h);
    pair.carry();
    pair.server.reply(id, {});
    pair.carry();
  }
  CHECK(pair.client.calls() == 0);
  pair.client.close();
  CHECK(pair.client.finished());
}

TEST_CASE("ClientCore: a lost connection ends every call once, and further calls fail", "[rpc]") {
  Pair pair;
  const auto first = pair.call("a");
  const auto second = pair.call("b");
  pair.carry();
  pair.client.lost(std::make_error_code(std::errc::connection_reset));
  pair.take_events();
  REQUIRE(pair.at_client.size() == 3);
  CHECK(pair.at_client[1].call == first);
  CHECK(pair.at_client[2].call == second);
  CHECK(pair.at_client[2].code == rpc_errc::lost);
  CHECK_THAT(pair.at_client[2].where, ContainsSubstring("reset"));
  CHECK(pair.client.finished());

  const auto third = pair.call("c");
  CHECK(pair.at_client.size() == 3);  // no event inside `call`
  pair.take_events();
  REQUIRE(pair.at_client.size() == 4);
  CHECK(pair.at_client[3].call == third);
  CHECK(pair.at_client[3].code == rpc_errc::closed);
  CHECK_FALSE(pair.client.reads());
}

TEST_CASE("ClientCore: calls beyond the server's limit fail with exhausted, the others do not", "[rpc]") {
  distrib::RpcServerOptions few;
  few.max_calls = 2;
  Pair pair{few};
  pair.carry();
  for (int i = 0; i < 3; ++i) pair.call("a");
  pair.carry();
  CHECK(pair.at_client.back().code == rpc_errc::exhausted);
  CHECK(pair.client.calls() == 2);
}

TEST_CASE("ClientCore: a silent server gets a ping, then the connection ends", "[rpc]") {
  Pair pair;
  const auto id = pair.call("a");
  pair.carry();
  pair.pass(10s);
  pair.carry();  // ping and pong
  CHECK(*pair.client.wake() == pair.now + 10s);
  for (int i = 0; i < 3; ++i) pair.pass(10s);
  CHECK(pair.at_client.back().call == id);
  CHECK(pair.at_client.back().code == rpc_errc::silent);
  CHECK(pair.client.finished());
}

TEST_CASE("ClientCore: items arrive in order, and taken items give the server more credit", "[rpc]") {
  Pair pair;
  const auto id = pair.call("a");
  pair.carry();
  unsigned sent = 0;
  while (pair.server.item(id, distrib::as_bytes(std::to_string(sent)))) ++sent;
  CHECK(sent == distrib::initial_credit);
  pair.carry();
  for (unsigned i = 0; i < sent; ++i) {
    CHECK(pair.at_server.back().kind == static_cast<int>(distrib::ServerEvent::Kind::request));
    pair.client.taken(id);  // the credit is not sent before `carry`
  }
  pair.carry();
  CHECK(pair.at_server.back().kind == static_cast<int>(distrib::ServerEvent::Kind::credit));
  while (pair.server.item(id, distrib::as_bytes(std::to_string(sent)))) ++sent;
  CHECK(sent == 2 * distrib::initial_credit);
  pair.server.end_stream(id);
  pair.carry();
  CHECK(pair.at_client.back().kind == kind_ended);
  REQUIRE(pair.at_client.size() == 1 + sent + 1);
  for (unsigned i = 0; i < sent; ++i) {
    CHECK(pair.at_client[1 + i].kind == kind_item);
    CHECK(pair.at_client[1 + i].head == std::to_string(i));
  }
  CHECK_FALSE(pair.server.item(id, {}));

  Pair greedy;
  const auto other = greedy.call("a");
  greedy.carry();
  for (unsigned i = 0; i <= distrib::initial_credit; ++i) {
    CHECK_FALSE(greedy.client.finished());
    const stream::Bytes bytes = stream::frame({FrameKind::item, 0, 0, 0, other, 0}, "i");
    stream::give(greedy.client, bytes, bytes.size(), greedy.now);
    greedy.take_events();
  }
  CHECK(greedy.at_client.back().code == rpc_errc::protocol);
}

TEST_CASE("ClientCore: an unfinished frame ends the connection after frame_within", "[rpc]") {
  distrib::RpcClientOptions options;
  options.frame_within = 5s;
  Pair pair{distrib::RpcServerOptions{}, options};
  const auto id = pair.call("a");
  pair.carry();
  const stream::Bytes whole = stream::frame({FrameKind::reply, 0, 0, 0, id, 0}, "answer");
  stream::give(pair.client, stream::Bytes{whole.begin(), whole.begin() + 10}, 10, pair.now);
  pair.take_events();
  CHECK(*pair.client.wake() == pair.now + 5s);
  pair.pass(5s);
  CHECK(pair.at_client.back().code == rpc_errc::silent);

  Pair slow{distrib::RpcServerOptions{}, options};
  slow.carry();
  const stream::Bytes ping = stream::frame({FrameKind::ping});
  const auto give = [&slow](stream::Bytes bytes) {
    REQUIRE(stream::give(slow.client, bytes, bytes.size(), slow.now) == bytes.size());
    slow.take_events();
    slow.client.keep();
  };
  give({ping.begin(), ping.begin() + 10});
  slow.pass(4s);
  stream::Bytes rest{ping.begin() + 10, ping.end()};
  rest.insert(rest.end(), ping.begin(), ping.begin() + 10);
  give(rest);
  CHECK(*slow.client.wake() == slow.now + 5s);  // a new frame has its own time
}

TEST_CASE("ClientCore: its greeting names the wanted service", "[rpc]") {
  distrib::RpcServerOptions three;
  three.services = 3;
  distrib::RpcClientOptions options;
  options.service = 2;
  Pair pair{three, options};
  pair.carry();
  CHECK(pair.at_server.at(0).method == 2);
}

TEST_CASE("ClientCore: the goodbye says which calls the server has not started; these fail with closed", "[rpc]") {
  Pair pair;
  const auto answered = pair.call("a");
  const auto begun = pair.call("a");
  pair.carry();
  pair.server.drain(pair.now + 1min);
  const auto behind = pair.call("a");  // the client has not read the goodbye yet
  stream::take_output(pair.client, pair.now);
  pair.server.reply(answered, {});
  const stream::Bytes last = stream::take_output(pair.server, pair.now);
  CHECK(stream::give(pair.client, last, last.size(), pair.now) == last.size());
  pair.take_events();
  pair.client.lost({});
  pair.take_events();
  REQUIRE(pair.at_client.size() == 4);
  CHECK(pair.at_client[1].call == answered);
  CHECK_FALSE(pair.at_client[1].code);
  CHECK(pair.at_client[2].call == begun);
  CHECK(pair.at_client[2].code == rpc_errc::lost);
  CHECK(pair.at_client[3].call == behind);
  CHECK(pair.at_client[3].code == rpc_errc::closed);
}

TEST_CASE("ClientCore: a call, answer or item that is too large fails only its own call", "[rpc]") {
  distrib::RpcServerOptions options;
  options.limits = {100, 1000};
  distrib::RpcClientOptions small;
  small.limits = {50, 500};
  Pair pair{options, small};
  pair.carry();
  const auto good = pair.call("a", "", stream::body(1000));
  pair.call("a", "", stream::body(1001));
  pair.call("a", std::string(93, 'h'));
  pair.take_events();
  REQUIRE(pair.at_client.size() == 3);
  CHECK(pair.at_client[1].code == rpc_errc::too_large);
  CHECK(pair.at_client[2].code == rpc_errc::too_large);
  pair.carry();
  pair.server.reply(good, {}, stream::body(501));
  pair.carry();
  CHECK(pair.at_client.back().call == good);
  CHECK(pair.at_client.back().code == rpc_errc::too_large);
  const auto streamed = pair.call("a");
  pair.carry();
  CHECK(pair.client.item(streamed, {}, stream::body(1000)));
  CHECK_FALSE(pair.client.item(streamed, {}, stream::body(1001)));
  pair.carry();
  CHECK(pair.at_client.back().code == rpc_errc::too_large);
  CHECK_FALSE(pair.client.finished());
  CHECK_FALSE(pair.server.finished());
  CHECK(pair.server.calls() == 0);
}

TEST_CASE("ClientCore: over owed_bytes further calls fail with exhausted until the server reads", "[rpc]") {
  distrib::RpcClientOptions options;
  options.owed_bytes = 1000;
  Pair pair{distrib::RpcServerOptions{}, options};
  pair.carry();
  pair.call("a", {}, stream::body(2000));
  pair.call("a");
  pair.take_events();
  CHECK(pair.at_client.back().code == rpc_errc::exhausted);
  pair.carry();
  pair.call("a");
  const auto before = pair.at_client.size();
  pair.take_events();
  CHECK(pair.at_client.size() == before);
}

TEST_CASE("ClientCore: a server that drains answers the calls that it has", "[rpc]") {
  Pair pair;
  const auto id = pair.call("a");
  pair.carry();
  pair.server.drain(pair.now + 1min);
  CHECK_FALSE(pair.server.finished());
  pair.carry();
  pair.call("b");
  pair.take_events();
  CHECK(pair.at_client.back().code == rpc_errc::closed);
  pair.server.reply(id, {});
  pair.carry();
  CHECK(pair.at_client.back().call == id);
  CHECK(pair.server.finished());
}

TEST_CASE("ClientCore: a reply with the id of a future call never reaches that call", "[rpc]") {
  Pair pair;
  pair.carry();
  const auto bytes = stream::frame({FrameKind::reply, 0, 0, 0, 1ULL << 32, 0}, "", stream::body(100'000));
  const auto give = [&](std::size_t from, std::size_t to) {
    for (std::size_t at = from; at < to;) {
      at += stream::give(pair.client, distrib::ByteView{bytes}.subspan(at, to - at), 20'000, pair.now);
      pair.take_events();
      pair.client.keep();
    }
  };
  give(0, 40'000);
  pair.at_client.clear();
  const std::uint64_t call = pair.call("m");
  REQUIRE(call == 1ULL << 32);
  if (GENERATE(true, false)) pair.client.take_in_chunks(call);
  give(40'000, bytes.size());
  CHECK(pair.at_client.empty());
  CHECK(pair.client.calls() == 1);
  CHECK_FALSE(pair.client.reason());
}

TEST_CASE("ClientCore: what is queued may reach owed_bytes, and one call may exceed it", "[rpc]") {
  std::size_t of_a_call = 0;
  {
    Pair pair;
    pair.carry();
    pair.call("a");
    of_a_call = stream::take_output(pair.client, pair.now).size();
  }
  struct Row {
    std::size_t owed_bytes;
    std::size_t refused;
  };
  for (const Row& row : {Row{of_a_call - 1, 2}, Row{of_a_call, 1}, Row{2 * of_a_call - 1, 1}, Row{2 * of_a_call, 0}}) {
    CAPTURE(row.owed_bytes);
    distrib::RpcClientOptions options;
    options.owed_bytes = row.owed_bytes;
    Pair pair{distrib::RpcServerOptions{}, options};
    pair.carry();
    for (int i = 0; i < 3; ++i) pair.call("a");
    pair.take_events();
    CHECK(pair.at_client.size() == 1 + row.refused);
    for (std::size_t i = 1; i < pair.at_client.size(); ++i) CHECK(pair.at_client[i].code == rpc_errc::exhausted);
  }
}

TEST_CASE("ClientCore: the remaining milliseconds are sent to the server rounded up", "[rpc]") {
  struct Row {
    std::chrono::microseconds left;
    std::uint32_t told;
  };
  for (const Row& row : {Row{1us, 1}, Row{999us, 1}, Row{1000us, 1}, Row{1001us, 2}, Row{1500us, 2}, Row{2000us, 2},
                         Row{24h * 365, 0xfffffffe}}) {
    CAPTURE(row.left.count());
    Pair pair;
    pair.carry();
    pair.client.call(1, {}, nullptr, pair.now + row.left, pair.now);
    const stream::Bytes bytes = stream::take_output(pair.client, pair.now);
    REQUIRE(bytes.size() >= distrib::frame_header_bytes + 8);
    CHECK(distrib::load_le<std::uint32_t>(bytes.data() + distrib::frame_header_bytes) == row.told);
  }
  Pair pair;
  pair.carry();
  pair.call("a");
  const stream::Bytes bytes = stream::take_output(pair.client, pair.now);
  CHECK(distrib::load_le<std::uint32_t>(bytes.data() + distrib::frame_header_bytes) == 0xffffffff);  // no deadline
}

namespace {

/// Returns the kinds of the frames that the client has to write.
auto kinds_of_client(Pair& pair) -> std::vector<FrameKind> {
  return stream::kinds_of(stream::take_output(pair.client, pair.now));
}

/// Passes bytes to the client.
void give_client(Pair& pair, const stream::Bytes& bytes) {
  REQUIRE(stream::give(pair.client, bytes, bytes.size(), pair.now) == bytes.size());
  pair.take_events();
  pair.client.keep();
}

}  // namespace

TEST_CASE("ClientCore: has_room is true if one more call would be sent", "[rpc]") {
  distrib::RpcServerOptions few;
  few.max_calls = 2;
  Pair pair{few};
  CHECK_FALSE(pair.client.available());  // no greeting of the server yet
  CHECK_FALSE(pair.client.has_room());
  pair.carry();
  CHECK(pair.client.available());
  const auto first = pair.call("a");
  CHECK(pair.client.has_room());
  pair.call("a");
  CHECK(pair.client.available());
  CHECK_FALSE(pair.client.has_room());
  CHECK_FALSE(pair.client.ready());
  pair.call("a");
  CHECK(pair.client.ready());  // the call was refused at once
  pair.carry();
  CHECK_FALSE(pair.client.ready());
  pair.server.reply(first, {});
  pair.carry();
  CHECK(pair.client.has_room());
  SECTION("closed by the client") { pair.client.close(); }
  SECTION("the connection is lost") { pair.client.lost({}); }
  SECTION("the server has sent a goodbye") {
    pair.server.drain(pair.now + 1h);
    pair.carry();
  }
  CHECK_FALSE(pair.client.available());
  CHECK_FALSE(pair.client.has_room());
}

TEST_CASE("ClientCore: after close it sends one goodbye, and ends with its last call", "[rpc]") {
  Pair pair;
  const auto id = pair.call("a");
  pair.carry();
  pair.client.close();
  pair.client.close();
  CHECK(kinds_of_client(pair) == std::vector{FrameKind::goodbye});
  CHECK_FALSE(pair.client.finished());
  CHECK(pair.client.wake());
  pair.server.reply(id, {});
  pair.carry();
  CHECK(pair.client.finished());
  CHECK(!pair.client.wake());
  CHECK_FALSE(pair.client.reason());
  pair.call("b");
  pair.take_events();
  CHECK(pair.at_client.back().code == rpc_errc::closed);
}

TEST_CASE("ClientCore: the first reason for its end is kept", "[rpc]") {
  Pair pair;
  const auto id = pair.call("a");
  pair.carry();
  pair.client.lost({});
  CHECK(pair.client.reason().code == rpc_errc::lost);
  CHECK(pair.client.reason().where == "closed by the peer");
  pair.client.give_up({rpc_errc::protocol, "too late"});
  CHECK(pair.client.reason().code == rpc_errc::lost);
  pair.client.woken(pair.now + 1000h);
  CHECK(pair.client.reason().code == rpc_errc::lost);
  pair.take_events();
  CHECK(pair.at_client.back().call == id);
  CHECK(pair.at_client.back().code == rpc_errc::lost);
  const std::size_t before = pair.at_client.size();
  pair.take_events();
  CHECK(pair.at_client.size() == before);
}

TEST_CASE("ClientCore: a call not yet passed to the socket when the connection is lost fails with not_sent", "[rpc]") {
  Pair pair;
  pair.carry();
  const auto sent = pair.call("a");
  CHECK_FALSE(pair.client.output().empty());  // this call may be under way
  const auto waits = pair.call("a");
  pair.client.lost(std::make_error_code(std::errc::connection_reset));
  pair.take_events();
  REQUIRE(pair.at_client.size() == 3);
  CHECK(pair.at_client[1].call == sent);
  CHECK(pair.at_client[1].code == rpc_errc::lost);
  CHECK(pair.at_client[2].call == waits);
  CHECK(pair.at_client[2].code == rpc_errc::not_sent);
  CHECK(pair.at_client[2].where == make_error_code(rpc_errc::lost).message());
  for (const rpc_errc why : {rpc_errc::unauthorized, rpc_errc::closed}) {  // these codes say as much
    Pair other;
    other.carry();
    other.call("a");
    other.client.give_up({why, "why"});
    other.take_events();
    CHECK(other.at_client.back().code == why);
    CHECK(other.at_client.back().where == "why");
  }
}

TEST_CASE("ClientCore: a server that does not greet in time ends the connection", "[rpc]") {
  distrib::RpcClientOptions options;
  options.greeting_within = 20s;
  Pair pair{distrib::RpcServerOptions{}, options};
  CHECK(*pair.client.wake() == pair.now + 20s);
  pair.pass(19'999ms);
  CHECK_FALSE(pair.client.finished());
  pair.pass(1ms);
  CHECK(pair.client.reason().code == rpc_errc::silent);
  CHECK(pair.client.reason().where == "no greeting");
}

TEST_CASE("ClientCore: after its end it sends no ping", "[rpc]") {
  Pair pair;
  pair.carry();
  pair.client.lost({});
  pair.client.woken(pair.now + 10s);
  CHECK(kinds_of_client(pair).empty());
}

TEST_CASE("ClientCore: one ping after ping_after without bytes; any bytes restart the time", "[rpc]") {
  Pair pair;
  pair.carry();
  CHECK(*pair.client.wake() == pair.now + 10s);
  pair.pass(9'999ms);
  CHECK(kinds_of_client(pair).empty());
  pair.pass(1ms);
  CHECK(kinds_of_client(pair) == std::vector{FrameKind::ping});
  CHECK(*pair.client.wake() == pair.now + 10s);
  pair.client.woken(pair.now);
  CHECK(kinds_of_client(pair).empty());
  pair.pass(5s);
  give_client(pair, stream::frame({FrameKind::pong}));
  CHECK(*pair.client.wake() == pair.now + 10s);
  CHECK(kinds_of_client(pair).empty());
  give_client(pair, stream::frame({FrameKind::ping}));
  CHECK(kinds_of_client(pair) == std::vector{FrameKind::pong});
  pair.now += 30s;
  pair.client.woken(pair.now - 1ms);
  CHECK_FALSE(pair.client.finished());
  pair.client.woken(pair.now);
  CHECK(pair.client.reason().code == rpc_errc::silent);
}

TEST_CASE("ClientCore: frames that are not allowed end the connection, frames for calls that are over do not",
          "[rpc]") {
  const stream::Bytes wrong[] = {
      stream::frame({FrameKind::request, 0, 1, 0, 1ULL << 32, 0}, "12345678"),
      stream::frame({FrameKind::cancel, 0, 0, 0, 1ULL << 32, 0}), stream::frame({FrameKind::greeting}),
      stream::frame({FrameKind::credit, 0, 0, 0, 1ULL << 32, 0}, "abc"), stream::Bytes(100, std::byte{'G'})};
  for (const stream::Bytes& bytes : wrong) {
    Pair pair;
    pair.carry();
    const auto id = pair.call("a");
    stream::take_output(pair.client, pair.now);
    give_client(pair, bytes);
    CHECK(pair.client.finished());
    CHECK(pair.at_client.back().call == id);
    CHECK(pair.at_client.back().code == (bytes.size() == 100 ? rpc_errc::not_ours : rpc_errc::protocol));
    CHECK_FALSE(pair.client.reads());
  }
  Pair pair;
  pair.carry();
  const std::uint64_t nobody = 9ULL << 32;
  for (const FrameKind kind : {FrameKind::reply, FrameKind::error, FrameKind::end, FrameKind::item})
    give_client(pair, stream::frame({kind, 0, 0, 0, nobody, 0}));
  give_client(pair, stream::frame({FrameKind::credit, 0, 0, 0, nobody, 0}, "1234"));
  CHECK(pair.at_client.size() == 1);  // the greeting
  CHECK_FALSE(pair.client.finished());
  pair.client.end_items(nobody);  // requests about a call that is over do nothing
  pair.client.taken(nobody);
  pair.client.take_in_chunks(nobody);
  CHECK_FALSE(pair.client.item(nobody, {}));
  CHECK(kinds_of_client(pair).empty());
}

TEST_CASE("ClientCore: a large reply arrives in chunks if the call wants that, a small one whole", "[rpc]") {
  Pair pair;
  const auto wanted = pair.call("a"), other = pair.call("a"), small = pair.call("a");
  pair.client.take_in_chunks(wanted);
  pair.client.take_in_chunks(small);
  pair.carry();
  pair.at_client.clear();
  pair.server.reply(wanted, distrib::as_bytes("head"), stream::body(10'000));
  pair.server.reply(other, distrib::as_bytes("other"), stream::body(10'000));
  pair.server.reply(small, distrib::as_bytes("small"), stream::body(1000));
  pair.carry(3000);
  REQUIRE(pair.at_client.size() > 5);
  CHECK(pair.at_client[0].kind == static_cast<int>(ClientEvent::Kind::begun));
  CHECK(pair.at_client[0].head == "head");
  CHECK(pair.at_client[0].body_bytes == 0);
  std::size_t bytes = 0;
  std::size_t i = 1;
  for (; pair.at_client[i].kind == static_cast<int>(ClientEvent::Kind::chunk); ++i) {
    CHECK(pair.at_client[i].call == wanted);
    bytes += pair.at_client[i].body_bytes;
  }
  CHECK(bytes == 10'000);
  REQUIRE(pair.at_client.size() == i + 3);
  for (std::size_t last = i; last < i + 3; ++last) CHECK(pair.at_client[last].kind == kind_reply);
  CHECK(pair.at_client[i].call == wanted);
  CHECK(pair.at_client[i].body_bytes == 0);
  CHECK(pair.at_client[i + 1].head == "other");
  CHECK(pair.at_client[i + 1].body_bytes == 10'000);
  CHECK(pair.at_client[i + 2].head == "small");
  CHECK(pair.at_client[i + 2].body_bytes == 1000);
  CHECK(pair.client.calls() == 0);
}

TEST_CASE("ClientCore: metadata counts to the size of the head, and arrives separate from it", "[rpc]") {
  distrib::RpcServerOptions options;
  options.limits = {100, 1000};
  Pair pair{options};
  pair.carry();
  const std::string metadata(42, 'm');
  for (const auto& [size, fits] : {std::pair{50U, true}, std::pair{51U, false}}) {
    pair.client.call(1, distrib::as_bytes(std::string(size, 'h')), {}, std::nullopt, pair.now,
                     distrib::as_bytes(metadata));
    pair.carry();
    CHECK(pair.at_server.back().head == std::string(50, 'h'));
    CHECK((pair.at_client.back().code == rpc_errc::too_large) == !fits);
    CHECK(pair.server.calls() == 1);
  }
}

TEST_CASE("ClientCore: the memory of large bodies is freed after some time without bytes", "[rpc]") {
  Pair pair;
  const auto id = pair.call("a");
  pair.carry();
  pair.server.reply(id, {}, stream::body(100'000));
  pair.carry();
  CHECK(*pair.client.wake() == pair.now + distrib::memory_kept_for);
  pair.pass(distrib::memory_kept_for);
  CHECK(*pair.client.wake() == pair.now - distrib::memory_kept_for + 10s);
  CHECK_FALSE(pair.client.finished());
}

TEST_CASE("ClientCore: cancel takes a reason, and the slot is reused only after the failed event", "[rpc]") {
  Pair pair;
  const auto first = pair.call("a", {}, nullptr, 50ms);
  pair.carry();
  pair.client.cancel(first, rpc_errc::exhausted);
  CHECK(pair.client.calls() == 1);
  const auto second = pair.call("a");
  CHECK(static_cast<std::uint32_t>(second) != static_cast<std::uint32_t>(first));
  pair.take_events();
  CHECK(pair.at_client.back().call == first);
  CHECK(pair.at_client.back().code == rpc_errc::exhausted);
  CHECK(pair.client.calls() == 1);
  const auto third = pair.call("a");
  CHECK(static_cast<std::uint32_t>(third) == static_cast<std::uint32_t>(first));
  pair.pass(100ms);  // only the first call had a deadline
  CHECK(pair.client.calls() == 2);
  CHECK(kinds_of_client(pair) == std::vector{FrameKind::cancel, FrameKind::request, FrameKind::request});
}

TEST_CASE("ClientCore: an error of the connection is the reason of all calls in flight", "[rpc]") {
  Pair pair;
  const auto id = pair.call("a");
  pair.carry();
  pair.server.refuse(rpc_errc::exhausted, "enough");
  pair.carry();
  CHECK(pair.client.reason().code == rpc_errc::exhausted);
  CHECK_THAT(pair.client.reason().where, ContainsSubstring("enough"));
  CHECK(pair.at_client.back().call == id);
  CHECK(pair.at_client.back().code == rpc_errc::exhausted);
}

TEST_CASE("ClientCore: its frames have no flags; only a request has a method; those about a call have its number",
          "[rpc]") {
  Pair pair;
  pair.carry();  // the greetings
  const auto read = pair.call("read"), written = pair.call("written"), dropped = pair.call("dropped");
  pair.carry();
  while (pair.server.item(read, {})) {
  }
  pair.carry();
  for (unsigned i = 0; i < distrib::initial_credit; ++i) pair.client.taken(read);
  const auto asked = pair.call("asked");
  CHECK(pair.client.item(written, {}));
  pair.client.end_items(written);
  pair.client.cancel(dropped);
  pair.client.close();
  const std::map<FrameKind, std::uint64_t> calls{{FrameKind::credit, read},    {FrameKind::request, asked},
                                                 {FrameKind::item, written},   {FrameKind::end, written},
                                                 {FrameKind::cancel, dropped}, {FrameKind::goodbye, 0}};
  std::map<FrameKind, std::uint64_t> sent;
  for (const distrib::FrameHeader& header : stream::headers_of(stream::take_output(pair.client, pair.now))) {
    CHECK(header.flags == 0);
    CHECK(header.method == (header.kind == FrameKind::request ? distrib::method_id("asked") : 0));
    sent[header.kind] = header.call;
  }
  CHECK(sent == calls);
}
