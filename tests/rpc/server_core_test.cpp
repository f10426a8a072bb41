// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/server_core.hpp>

#include <distrib/core/crc32c.hpp>
#include <distrib/rpc/remote_error.hpp>

#include "rpc/pair.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <map>
#include <memory>
#include <optional>
#include <random>
#include <string>
#include <utility>
#include <vector>

using distrib::FrameKind;
using distrib::rpc_errc;
using pair::Pair;
using stream::Bytes;
using namespace std::chrono_literals;

namespace {

constexpr int server_greeted = static_cast<int>(distrib::ServerEvent::Kind::greeted);

/// Passes bytes to the server.
void give(Pair& pair, const Bytes& bytes) {
  REQUIRE(stream::give(pair.server, bytes, bytes.size(), pair.now) == bytes.size());
  pair.take_events();
  pair.server.keep();
}

auto text(std::initializer_list<std::uint32_t> numbers) -> std::string {
  std::string bytes;
  for (const std::uint32_t number : numbers) bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  return bytes;
}

auto request(std::uint64_t call, std::string_view head) -> Bytes {
  return stream::frame({FrameKind::request, 0, 1, 0, call, 0}, head);
}

}  // namespace

TEST_CASE("RpcServerOptions: the defaults limit a server, and a frame fits within every limit", "[rpc]") {
  const distrib::RpcServerOptions options;
  CHECK(options.limits.body_bytes <= options.held_bytes);
  CHECK(options.owed_bytes <= options.server_bytes);
  CHECK(options.held_bytes <= options.server_bytes);
  CHECK(options.max_calls <= options.server_calls);
  CHECK(options.greeting_within < options.silent_after);
  CHECK(options.frame_within < options.silent_after);
}

TEST_CASE("ServerCore: reports the wanted service, and refuses an unknown service", "[rpc]") {
  distrib::RpcServerOptions three;
  three.services = 3;
  distrib::RpcClientOptions options;
  options.service = 2;
  {
    Pair pair{three, options};
    pair.carry();
    REQUIRE(pair.at_server.size() == 1);
    CHECK(pair.at_server[0].kind == server_greeted);
    CHECK(pair.at_server[0].method == 2);
  }
  options.service = 3;
  Pair pair{three, options};
  pair.call("a");
  pair.carry();
  CHECK(pair.at_server.empty());
  CHECK(pair.server.finished());
  REQUIRE(pair.at_client.size() == 1);
  CHECK(pair.at_client[0].code == rpc_errc::unknown_service);
  CHECK_THAT(pair.at_client[0].where, ContainsSubstring("service 3 (counted from 0) of 3"));
}

TEST_CASE("ServerCore: closes an unknown client without an answer, a greeted client with an error", "[rpc]") {
  {
    Pair pair;
    give(pair, Bytes(1000, std::byte{'G'}));
    CHECK(pair.server.finished());
    CHECK(pair.server.reason() == rpc_errc::not_ours);
    CHECK(pair.server.output().empty());
  }
  {
    Pair pair;  // a header with a huge length before the greeting
    const auto header = distrib::encode_frame_header({FrameKind::greeting, 0, 0, 1 << 20, 0, 0});
    give(pair, Bytes(header.begin(), header.end()));
    CHECK(pair.server.reason() == rpc_errc::too_large);
  }
  {
    Pair pair;
    pair.carry();
    give(pair, Bytes(100, std::byte{'G'}));
    CHECK(pair.server.reason() == rpc_errc::not_ours);
    CHECK_FALSE(pair.server.output().empty());
    CHECK_FALSE(pair.server.reads());
  }
}

TEST_CASE("ServerCore: frames that are not allowed end the connection", "[rpc]") {
  const Bytes wrong[] = {stream::frame({FrameKind::reply}), stream::frame({FrameKind::error}),
                         stream::frame({FrameKind::greeting}), stream::frame({FrameKind::credit, 0, 0, 0, 1, 0}, "abc"),
                         request(5, text({1, 0}))};  // a call with generation 0
  for (const Bytes& bytes : wrong) {
    Pair pair;
    pair.carry();
    give(pair, bytes);
    CHECK(pair.server.reason() == rpc_errc::protocol);
    pair.carry();
    CHECK(pair.client.reason().code == rpc_errc::protocol);  // the client got the code
  }
  Pair early;
  give(early, request(1ULL << 32, text({1, 0})));
  CHECK(early.server.reason() == rpc_errc::protocol);

  Pair twice;
  twice.carry();
  give(twice, request(1ULL << 32, text({1, 0})));
  CHECK_FALSE(twice.server.finished());
  give(twice, request(2ULL << 32, text({1, 0})));
  CHECK(twice.server.reason() == rpc_errc::protocol);
}

TEST_CASE("ServerCore: a malformed request is refused, and nothing else fails", "[rpc]") {
  Pair pair;
  pair.carry();
  const std::size_t before = pair.at_server.size();
  give(pair, request(1ULL << 32, "short"));
  give(pair, request((1ULL << 32) | 1, text({10, 1})));  // its metadata is missing
  give(pair, request((1ULL << 32) | 2, text({0, 0})));   // no time left
  give(pair, request((1ULL << 32) | 5000, text({10, 0})));  // more calls than allowed
  CHECK(pair.at_server.size() == before);
  CHECK(pair.server.calls() == 0);
  CHECK_FALSE(pair.server.finished());
  give(pair, request((1ULL << 32) | 3, text({10, 4}) + "metahead"));
  REQUIRE(pair.at_server.size() == before + 1);
  CHECK(pair.at_server.back().head == "head");
}

TEST_CASE("ServerCore: the time limits for greeting and silence end the connection", "[rpc]") {
  {
    Pair pair;
    CHECK(*pair.server.wake() == pair.now + 5s);
    pair.pass(4999ms);
    CHECK_FALSE(pair.server.finished());
    pair.pass(1ms);
    CHECK(pair.server.reason() == rpc_errc::silent);
  }
  Pair pair;
  pair.carry();
  for (int i = 0; i < 20; ++i) {  // the client's pings keep the connection
    pair.pass(10s);
    pair.carry();
  }
  CHECK_FALSE(pair.server.finished());
  pair.now += 60s;
  pair.server.woken(pair.now);
  CHECK(pair.server.reason() == rpc_errc::silent);
}

TEST_CASE("ServerCore: an unfinished frame ends the connection, unless the server itself has stopped reading",
          "[rpc]") {
  distrib::RpcServerOptions options;
  options.frame_within = 10s;
  const Bytes whole = request(1ULL << 32, text({60'000, 0}) + std::string(2000, 'h'));
  const auto part = [](const Bytes& bytes, std::size_t from, std::size_t to) {
    return Bytes{bytes.begin() + static_cast<std::ptrdiff_t>(from), bytes.begin() + static_cast<std::ptrdiff_t>(to)};
  };
  const auto cut = [&](Pair& pair, std::size_t from, std::size_t to) { give(pair, part(whole, from, to)); };
  {
    Pair pair{options};
    pair.carry();
    cut(pair, 0, 20);
    CHECK(*pair.server.wake() == pair.now + 10s);
    pair.pass(6s);
    cut(pair, 20, 21);  // one byte is no progress
    CHECK(*pair.server.wake() == pair.now + 4s);
    pair.pass(4s);
    CHECK(pair.server.reason() == rpc_errc::silent);
  }
  {
    Pair pair{options};
    pair.carry();
    cut(pair, 0, 20);
    pair.pass(6s);
    cut(pair, 20, whole.size());
    cut(pair, 0, 20);  // a new frame has its own time
    CHECK(*pair.server.wake() == pair.now + 10s);
  }
  {
    Pair pair{options};
    pair.carry();
    const Bytes large = stream::frame({FrameKind::request, 0, 1, 0, 1ULL << 32, 0}, text({60'000, 0}),
                                      stream::body(4 * distrib::detail::frame_progress_bytes));
    for (std::size_t at = 0; at < large.size(); at += distrib::detail::frame_progress_bytes) {
      give(pair, part(large, at, std::min(large.size(), at + distrib::detail::frame_progress_bytes)));
      pair.pass(9s);  // slow, but with enough progress
    }
    CHECK_FALSE(pair.server.finished());
    CHECK(pair.server.calls() == 1);
  }
  options.held_bytes = 1000;
  Pair pair{options};
  pair.carry();
  cut(pair, 0, whole.size());
  CHECK(pair.server.calls() == 1);
  CHECK_FALSE(pair.server.reads());
  for (int i = 0; i < 100; ++i) {  // while the handler works
    pair.now += 20ms;
    CHECK(*pair.server.wake() == pair.now);
    pair.server.woken(pair.now);
    pair.take_events();
  }
  pair.pass(200s);
  CHECK_FALSE(pair.server.finished());
  pair.server.reply(1ULL << 32, {});
  CHECK(pair.server.reads());
}

TEST_CASE("ServerCore: server_calls and server_bytes limit all connections together", "[rpc]") {
  distrib::RpcServerOptions options;
  options.server_calls = 3;
  options.server_bytes = 5000;
  const auto budget = std::make_shared<distrib::ServerBudget>(options);
  Pair a{budget};
  Pair b{budget};
  a.carry();
  b.carry();
  for (std::uint64_t i = 0; i < 2; ++i) give(a, request((1ULL << 32) | i, text({60'000, 0}) + std::string(2000, 'h')));
  CHECK(budget->calls == 2);
  CHECK(budget->bytes == 2 * 2008);
  give(b, request(1ULL << 32, text({60'000, 0}) + std::string(2000, 'h')));  // the frame that exceeds the limit
  CHECK(b.server.calls() == 1);
  give(b, request((1ULL << 32) | 1, text({60'000, 0})));
  CHECK(b.server.calls() == 1);  // the request waits
  CHECK_FALSE(b.server.ready());
  a.server.reply(1ULL << 32, {});
  a.server.reply((1ULL << 32) | 1, {});
  CHECK(budget->calls == 1);
  static_cast<void>(a.server.output());
  a.server.written(a.now);
  CHECK(budget->bytes == 2008);
  CHECK(b.server.ready());
  b.pass(20ms);
  CHECK(b.server.calls() == 2);
  for (std::uint64_t i = 2; i < 4; ++i) give(b, request((1ULL << 32) | i, text({60'000, 0})));
  b.carry();
  CHECK(b.server.calls() == 3);
  {
    const auto gone = std::move(b);
  }
  CHECK(budget->calls == 0);
  CHECK(budget->bytes == 0);
}

TEST_CASE("ServerCore: items of a client are limited by credit, and taken items give the client more", "[rpc]") {
  Pair pair;
  const auto id = pair.call("a");
  pair.carry();
  unsigned sent = 0;
  while (pair.client.item(id, distrib::as_bytes(std::to_string(sent)), stream::body(100))) ++sent;
  CHECK(sent == distrib::initial_credit);
  const auto before = pair.at_client.size();
  pair.carry();
  REQUIRE(pair.at_server.size() == 2 + sent);
  CHECK(pair.at_server.back().kind == static_cast<int>(distrib::ServerEvent::Kind::item));
  CHECK(pair.at_server.back().head == std::to_string(sent - 1));
  for (unsigned i = 0; i < distrib::initial_credit / 2; ++i) pair.server.taken(id, 101);
  pair.carry();
  REQUIRE(pair.at_client.size() == before + 1);
  CHECK(pair.at_client.back().kind == static_cast<int>(distrib::ClientEvent::Kind::credit));
  while (pair.client.item(id, {})) ++sent;
  CHECK(sent == distrib::initial_credit * 3 / 2);
  pair.client.end_items(id);
  pair.carry();
  CHECK(pair.at_server.back().kind == static_cast<int>(distrib::ServerEvent::Kind::ended));
  give(pair, stream::frame({FrameKind::item, 0, 0, 0, id, 0}, "after the end"));
  CHECK(pair.server.reason() == rpc_errc::protocol);

  Pair greedy;
  const auto other = greedy.call("a");
  greedy.carry();
  for (unsigned i = 0; i <= distrib::initial_credit; ++i) {
    CHECK_FALSE(greedy.server.finished());
    give(greedy, stream::frame({FrameKind::item, 0, 0, 0, other, 0}, "i"));
  }
  CHECK(greedy.server.reason() == rpc_errc::protocol);
}

TEST_CASE("ServerCore: the memory of large bodies is freed after some time without bytes", "[rpc]") {
  Pair pair;
  pair.call("a", "", stream::body(100'000));
  pair.carry();
  CHECK(*pair.server.wake() == pair.now + distrib::memory_kept_for);
  pair.pass(distrib::memory_kept_for);
  CHECK(*pair.server.wake() == pair.now - distrib::memory_kept_for + 60s);
  CHECK_FALSE(pair.server.finished());
}

TEST_CASE("ServerCore: an answer with with_next leaves with the next frame of any kind", "[rpc]") {
  const auto answer = [](Pair& pair, std::uint64_t call, bool with_next) {
    pair.server.reply(call, {}, {}, std::nullopt, with_next);
    pair.carry();
  };
  Pair pair;
  const auto first = pair.call("a"), second = pair.call("a"), third = pair.call("a");
  pair.carry();
  pair.at_client.clear();  // the greeting
  answer(pair, first, true);
  CHECK(pair.server.calls() == 2);  // for the server the call is over and counts for no limit
  CHECK(pair.at_client.empty());
  answer(pair, second, false);
  REQUIRE(pair.at_client.size() == 2);
  CHECK(pair.at_client[0].call == first);
  CHECK(pair.at_client[1].call == second);

  answer(pair, third, true);
  CHECK(pair.at_client.size() == 2);
  pair.server.drain(pair.now + 10s);  // a goodbye is a frame too
  pair.carry();
  REQUIRE(pair.at_client.size() == 3);
  CHECK(pair.at_client[2].call == third);
}

TEST_CASE("ServerCore: an answer that is held back is sent when a drained connection ends with it", "[rpc]") {
  Pair pair;
  const auto call = pair.call("a");
  pair.carry();
  pair.server.drain(pair.now + 10s);
  pair.carry();
  pair.at_client.clear();
  pair.server.reply(call, {}, {}, std::nullopt, true);
  CHECK(pair.server.finished());
  pair.carry();
  REQUIRE_FALSE(pair.at_client.empty());
  CHECK(pair.at_client.front().call == call);
  CHECK(!pair.at_client.front().code);
}

TEST_CASE("ServerCore: a drain ends at its time, and calls that are left fail with lost", "[rpc]") {
  Pair pair;
  const auto id = pair.call("a");
  pair.carry();
  pair.server.drain(pair.now + 10s);
  pair.carry();
  pair.pass(9s);
  CHECK_FALSE(pair.server.finished());
  pair.pass(1s);
  CHECK(pair.server.finished());
  pair.carry();
  CHECK(pair.at_client.back().call == id);
  CHECK(pair.at_client.back().code == rpc_errc::lost);
}

TEST_CASE("ServerCore: a client that does not read gets no more answers queued than the limit", "[rpc]") {
  distrib::RpcServerOptions options;
  options.owed_bytes = 100'000;
  Pair pair{options};
  pair.carry();
  Bytes requests;
  for (std::uint64_t i = 0; i < 100; ++i) {
    const Bytes one = request((1ULL << 32) | i, text({1000, 0}));
    requests.insert(requests.end(), one.begin(), one.end());
  }
  REQUIRE(stream::give(pair.server, requests, requests.size(), pair.now) == requests.size());
  unsigned answered = 0;
  for (distrib::ServerEvent event; pair.server.next(pair.now, event);) {
    pair.server.reply(event.call, {}, stream::body(30'000));
    ++answered;
  }
  CHECK(answered == 4);  // checked before each frame, not only before each read
  CHECK_FALSE(pair.server.reads());
  CHECK_FALSE(pair.server.ready());
  pair.server.keep();
  while (!pair.server.output().empty()) {  // the client reads: the requests that waited are taken first
    pair.server.written(pair.now);
    CHECK(pair.server.ready() == (answered < 100));
    CHECK(pair.server.reads() == (answered == 100));
    for (distrib::ServerEvent event; pair.server.next(pair.now, event);) {
      pair.server.reply(event.call, {}, stream::body(30'000));
      ++answered;
    }
  }
  CHECK(answered == 100);
  CHECK(pair.server.reads());
}

TEST_CASE("ServerCore: for any bytes it answers or closes, and never reports more requests than were sent", "[rpc]") {
  Pair honest;
  for (unsigned i = 0; i < 20; ++i) honest.call("a", std::string(i, 'h'), stream::body(i % 5 == 0 ? 300 : 0));
  honest.client.cancel(honest.call("b"));
  honest.client.close();
  const Bytes good = stream::take_output(honest.client, honest.now);
  for (unsigned seed = 0; seed < 3000; ++seed) {
    std::mt19937 random{seed};
    Bytes bytes = good;
    for (auto changes = 1 + random() % 3; changes > 0; --changes) {
      const auto at = static_cast<std::ptrdiff_t>(random() % bytes.size());
      switch (random() % 4) {
        case 0: bytes[static_cast<std::size_t>(at)] = static_cast<std::byte>(random()); break;
        case 1: bytes.erase(bytes.begin() + at); break;
        case 2: bytes.insert(bytes.begin() + at, static_cast<std::byte>(random())); break;
        default: bytes.resize(static_cast<std::size_t>(at) + 1); break;
      }
    }
    Pair pair;
    std::size_t at = 0;
    unsigned requests = 0;
    while (at < bytes.size()) {
      if (!pair.server.reads()) break;
      at += stream::give(pair.server, distrib::ByteView{bytes}.subspan(at), std::size_t{1} + random() % 700, pair.now);
      for (distrib::ServerEvent event; pair.server.next(pair.now, event);)
        if (event.kind == distrib::ServerEvent::Kind::request) {
          ++requests;
          pair.server.reply(event.call, event.head, event.body);
        }
      pair.server.keep();
    }
    CAPTURE(seed);
    CHECK(requests <= 21);
    CHECK((pair.server.finished() || at == bytes.size()));
  }
}

TEST_CASE("ServerCore: a drain before the greeting ends the connection with closed", "[rpc]") {
  pair::Pair ends;
  ends.call("test.Echo", "too late");
  ends.server.drain(ends.now);
  ends.carry();
  CHECK(ends.server.finished());
  REQUIRE(ends.at_client.size() == 1);
  CHECK(ends.at_client[0].code == distrib::rpc_errc::closed);
}

TEST_CASE("ServerCore: a request has arrived when its last byte was read, not when it is taken", "[rpc]") {
  Pair ends;
  ends.carry();
  ends.call("test.Echo", "a");
  const Bytes bytes = stream::take_output(ends.client, ends.now);
  distrib::ServerEvent event;
  REQUIRE(stream::give(ends.server, bytes, bytes.size() - 1, ends.now) == bytes.size() - 1);
  CHECK_FALSE(ends.server.next(ends.now, event));
  ends.server.keep();
  const auto last = ends.now + 3ms;
  REQUIRE(stream::give(ends.server, distrib::ByteView{bytes}.last(1), 1, last) == 1);
  REQUIRE(ends.server.next(last + 5ms, event));
  CHECK(event.kind == distrib::ServerEvent::Kind::request);
  CHECK(event.arrived == last);
}

TEST_CASE("ServerCore: frames read with the greeting wait for the budget that the connection moves to", "[rpc]") {
  Pair ends;
  ends.call("test.Echo", "a");
  const Bytes bytes = stream::take_output(ends.client, ends.now);
  REQUIRE(stream::give(ends.server, bytes, bytes.size(), ends.now) == bytes.size());
  distrib::ServerEvent event;
  REQUIRE(ends.server.next(ends.now, event));
  CHECK(event.kind == distrib::ServerEvent::Kind::greeted);
  ends.server.keep();
  const auto full = std::make_shared<distrib::ServerBudget>(distrib::RpcServerOptions{});
  full->bytes = full->options.server_bytes + 1;
  ends.server.leave();
  ends.server.join(full);
  CHECK_FALSE(ends.server.ready());
  for (int i = 0; i < 2; ++i) {
    REQUIRE(ends.server.wake());
    CHECK(*ends.server.wake() <= ends.now + 20ms);
    ends.pass(20ms);
    CHECK(ends.at_server.empty());
  }
  full->bytes = 0;
  ends.pass(20ms);
  CHECK(ends.at_server.size() == 1);
}

namespace {

/// Passes a request with `left_ms` left to the server and takes it `taken_after` later. Returns the deadline of the
/// event; empty if the request was refused.
auto deadline_told(Pair& ends, std::uint32_t left_ms, std::chrono::milliseconds taken_after)
    -> std::optional<distrib::Instant> {
  const Bytes bytes = request(1ULL << 32, text({left_ms, 0}));
  REQUIRE(stream::give(ends.server, bytes, bytes.size(), ends.now) == bytes.size());
  distrib::ServerEvent event;
  if (!ends.server.next(ends.now + taken_after, event)) return std::nullopt;
  CHECK(event.kind == distrib::ServerEvent::Kind::request);
  return event.deadline;
}

}  // namespace

TEST_CASE("ServerCore: a deadline counts from the arrival of the request, not from when it is taken", "[rpc]") {
  struct Row {
    std::chrono::milliseconds taken_after;
    bool in_time;
  };
  for (const Row& row : {Row{0ms, true}, Row{40ms, true}, Row{99ms, true}, Row{100ms, false}, Row{150ms, false}}) {
    CAPTURE(row.taken_after.count());
    Pair ends;
    ends.carry();
    const auto told = deadline_told(ends, 100, row.taken_after);
    CHECK(told.has_value() == row.in_time);
    if (told) CHECK(*told == ends.now + 100ms);
    CHECK(ends.server.calls() == (row.in_time ? 1 : 0));
  }
  Pair ends;
  ends.carry();
  CHECK(deadline_told(ends, 0xffffffff, 150ms) == distrib::Instant::max());  // none
}

TEST_CASE("ServerCore: what items bring counts as held bytes until they are taken, and is released once", "[rpc]") {
  const auto budget = std::make_shared<distrib::ServerBudget>(distrib::RpcServerOptions{});
  Pair ends{budget};
  const auto id = ends.call("a");
  ends.carry();
  CHECK(budget->bytes == 8);  // the head of the request: milliseconds left and length of the metadata
  CHECK(ends.client.item(id, distrib::as_bytes("i"), stream::body(100)));
  CHECK(ends.client.item(id, distrib::as_bytes("item")));
  ends.carry();
  CHECK(budget->bytes == 8 + 101 + 4);
  ends.server.taken(id, 101);
  CHECK(budget->bytes == 8 + 4);
  SECTION("the call is answered") { ends.server.reply(id, {}); }
  SECTION("the call is cancelled") { ends.client.cancel(id); }
  ends.carry();
  CHECK(budget->bytes == 0);
  CHECK(budget->calls == 0);
  ends.server.taken(id, 4);  // too late: the bytes were released with the call
  CHECK(budget->bytes == 0);
}

TEST_CASE("ServerCore: after a body in chunks the head of its request counts as held bytes", "[rpc]") {
  const auto budget = std::make_shared<distrib::ServerBudget>(distrib::RpcServerOptions{});
  budget->takes_chunks = [](std::uint32_t) { return true; };
  Pair ends{budget};
  const auto id = ends.call("a", std::string(2000, 'h'), stream::body(5000));
  ends.carry(1000);
  REQUIRE(ends.at_server.size() > 3);
  CHECK(ends.at_server[1].kind == static_cast<int>(distrib::ServerEvent::Kind::request));
  CHECK(ends.at_server[2].kind == static_cast<int>(distrib::ServerEvent::Kind::chunk));
  CHECK(ends.at_server.back().kind == static_cast<int>(distrib::ServerEvent::Kind::body_end));
  CHECK(budget->bytes == 2008);
  CHECK(budget->calls == 1);
  ends.server.reply(id, {});
  ends.carry();
  CHECK(budget->bytes == 0);
}

TEST_CASE("ServerCore: an item after the end ends the connection, also if credit is left", "[rpc]") {
  Pair ends;
  const auto id = ends.call("a");
  ends.carry();
  ends.client.end_items(id);
  ends.carry();
  CHECK(ends.at_server.back().kind == static_cast<int>(distrib::ServerEvent::Kind::ended));
  const std::size_t before = ends.at_server.size();
  give(ends, stream::frame({FrameKind::item, 0, 0, 0, id, 0}, "after the end"));
  CHECK(ends.at_server.size() == before);
  CHECK(ends.server.reason() == rpc_errc::protocol);
}

namespace {

/// Returns the kinds of the frames that the server has to write.
auto kinds_from(Pair& ends) -> std::vector<FrameKind> {
  return stream::kinds_of(stream::take_output(ends.server, ends.now));
}

}  // namespace

TEST_CASE("ServerCore: the first reason for its end is kept, and nothing more happens then", "[rpc]") {
  Pair silent;
  silent.server.lost({});
  CHECK(silent.server.reason() == rpc_errc::lost);
  Pair reset;
  const auto id = reset.call("a");
  reset.carry();
  CHECK(reset.server.awaits(id));
  CHECK_FALSE(reset.server.awaits(id + 1));
  reset.server.lost(std::make_error_code(std::errc::connection_reset));
  CHECK(reset.server.reason() == std::errc::connection_reset);
  reset.server.lost({});
  reset.server.refuse(rpc_errc::protocol, "too late");
  CHECK(reset.server.reason() == std::errc::connection_reset);
  CHECK(reset.server.finished());
  CHECK_FALSE(reset.server.awaits(id));
  CHECK_FALSE(reset.server.reads());
  CHECK_FALSE(reset.server.ready());
  CHECK(!reset.server.wake());
  CHECK(kinds_from(reset).empty());
  reset.server.reply(id, {});  // ignored
  CHECK_FALSE(reset.server.item(id, {}));
  reset.server.woken(reset.now + 1000h);
  CHECK(reset.server.reason() == std::errc::connection_reset);

  Pair refused;
  refused.carry();
  refused.server.refuse(rpc_errc::protocol, "first");
  refused.server.refuse(rpc_errc::closed, "second");
  CHECK(refused.server.reason() == rpc_errc::protocol);
  CHECK(kinds_from(refused) == std::vector{FrameKind::error});
}

TEST_CASE("ServerCore: of two drains the earlier time counts, and the client gets one goodbye", "[rpc]") {
  for (const auto& [first, second] : {std::pair{10s, 20s}, std::pair{20s, 10s}}) {
    Pair ends;
    ends.call("a");
    ends.carry();
    ends.server.drain(ends.now + first);
    ends.server.drain(ends.now + second);
    CHECK(kinds_from(ends) == std::vector{FrameKind::goodbye});
    CHECK(*ends.server.wake() == ends.now + 10s);
    ends.pass(9999ms);
    CHECK_FALSE(ends.server.finished());
    ends.pass(1ms);
    CHECK(ends.server.reason() == rpc_errc::lost);
  }
}

TEST_CASE("ServerCore: a client that sent a goodbye gets its answers and can start no more calls", "[rpc]") {
  Pair ends;
  const auto id = ends.call("a");
  ends.carry();
  give(ends, stream::frame({FrameKind::goodbye}));
  CHECK_FALSE(ends.server.finished());
  give(ends, request((1ULL << 32) | 7, text({1000, 0})));
  CHECK(ends.server.calls() == 1);
  CHECK(kinds_from(ends) == std::vector{FrameKind::error});
  ends.server.reply(id, {});
  CHECK(ends.server.finished());
  CHECK_FALSE(ends.server.reason());
  CHECK(kinds_from(ends) == std::vector{FrameKind::reply});
}

TEST_CASE("ServerCore: pings are answered, pongs are not", "[rpc]") {
  Pair ends;
  ends.carry();
  const std::size_t events = ends.at_server.size();
  give(ends, stream::frame({FrameKind::pong}));
  CHECK(kinds_from(ends).empty());
  give(ends, stream::frame({FrameKind::ping}));
  CHECK(kinds_from(ends) == std::vector{FrameKind::pong});
  CHECK(ends.at_server.size() == events);
}

TEST_CASE("ServerCore: greeting_within counts from the start; later reading alone keeps a client alive", "[rpc]") {
  Pair slow;
  const Bytes greeting = stream::take_output(slow.client, slow.now);
  slow.pass(3s);
  give(slow, Bytes(greeting.begin(), greeting.begin() + 1));
  slow.server.written(slow.now);
  CHECK(*slow.server.wake() == slow.now + 2s);
  slow.pass(2s);
  CHECK(slow.server.reason() == rpc_errc::silent);

  Pair reads;
  const auto id = reads.call("a");
  reads.carry();
  reads.now += 50s;
  reads.server.reply(id, {});
  CHECK_FALSE(kinds_from(reads).empty());
  CHECK(*reads.server.wake() == reads.now + 60s);  // the client reads
  reads.now += 60s;
  reads.server.woken(reads.now - 1ms);
  CHECK_FALSE(reads.server.finished());
  reads.server.woken(reads.now);
  CHECK(reads.server.reason() == rpc_errc::silent);
}

TEST_CASE("ServerCore: silent_after counts from the greeting", "[rpc]") {
  Pair ends;
  ends.now += 4s;
  ends.client.woken(ends.now);
  ends.carry();
  CHECK(*ends.server.wake() == ends.now + 60s);
}

TEST_CASE("ServerCore: clients that ask for no particular service get the services in turn", "[rpc]") {
  distrib::RpcServerOptions options;
  options.services = 3;
  const auto budget = std::make_shared<distrib::ServerBudget>(options);
  std::vector<std::uint32_t> services;
  for (int i = 0; i < 5; ++i) {
    Pair ends{budget};
    ends.carry();
    services.push_back(ends.at_server[0].method);
  }
  CHECK(services == std::vector<std::uint32_t>{0, 1, 2, 0, 1});
  distrib::RpcClientOptions first;
  first.service = 0;
  Pair ends{budget, first};
  ends.carry();
  CHECK(ends.at_server[0].method == 0);
}

TEST_CASE("ServerCore: an error of the client before it has greeted ends the connection without an answer", "[rpc]") {
  Pair ends;
  distrib::WireWriter head;
  distrib::encode_error(head, rpc_errc::unauthorized, "who are you");
  const Bytes error = stream::frame({FrameKind::error}, distrib::as_text(head.view()));
  give(ends, error);
  CHECK(ends.server.reason() == rpc_errc::unauthorized);
  CHECK(kinds_from(ends).empty());
}

TEST_CASE("ServerCore: a slot must be below max_calls", "[rpc]") {
  distrib::RpcServerOptions options;
  options.max_calls = 4;
  Pair ends{options};
  ends.carry();
  give(ends, request((1ULL << 32) | 3, text({1000, 0})));
  CHECK(ends.server.calls() == 1);
  give(ends, request((1ULL << 32) | 4, text({1000, 0})));
  CHECK(ends.server.calls() == 1);
  for (std::uint64_t slot = 0; slot < 3; ++slot) give(ends, request((1ULL << 32) | slot, text({1000, 0})));
  CHECK(ends.server.calls() == 4);
  CHECK(kinds_from(ends) == std::vector{FrameKind::error});
}

TEST_CASE("ServerCore: a request event has the fields of the request, and later events of the call do not", "[rpc]") {
  Pair ends;
  ends.carry();
  ends.now += 7s;
  const auto body = stream::body(100);
  const auto id =
      ends.client.call(77, distrib::as_bytes("head"), body, std::nullopt, ends.now, distrib::as_bytes("metadata"));
  CHECK(ends.client.item(id, distrib::as_bytes("item"), stream::body(3)));
  ends.client.end_items(id);
  ends.client.cancel(id);
  const Bytes bytes = stream::take_output(ends.client, ends.now);
  REQUIRE(stream::give(ends.server, bytes, bytes.size(), ends.now) == bytes.size());
  distrib::ServerEvent event;
  REQUIRE(ends.server.next(ends.now, event));
  CHECK(event.kind == distrib::ServerEvent::Kind::request);
  CHECK(event.call == id);
  CHECK(event.method == 77);
  CHECK(event.service == 0);
  CHECK(event.arrived == ends.now);
  CHECK(event.deadline == distrib::Instant::max());
  CHECK(distrib::as_text(event.metadata) == "metadata");
  CHECK(distrib::as_text(event.head) == "head");
  CHECK(distrib::as_text(event.body.bytes()) == distrib::as_text(body->bytes()));
  CHECK(event.body_bytes == 100);
  CHECK(event.body_checksum == distrib::crc32c(body->bytes()));
  using Kind = distrib::ServerEvent::Kind;
  for (const Kind kind : {Kind::item, Kind::ended, Kind::cancelled}) {
    REQUIRE(ends.server.next(ends.now, event));
    CHECK(event.kind == kind);
    CHECK(event.call == id);
    CHECK(event.method == 0);
    CHECK(event.body_bytes == 0);
    CHECK(event.body_checksum == 0);
    CHECK(event.metadata.empty());
    CHECK(distrib::as_text(event.head) == (kind == Kind::item ? "item" : ""));
    CHECK(event.body.bytes().size() == (kind == Kind::item ? 3 : 0));
  }
  CHECK_FALSE(ends.server.next(ends.now, event));
  CHECK(ends.server.calls() == 0);
}

TEST_CASE("ServerCore: metadata may be the whole head; an end and a cancel count once", "[rpc]") {
  Pair ends;
  ends.carry();
  const std::uint64_t id = 1ULL << 32;
  give(ends, request(id, text({1000, 4}) + "meta"));
  CHECK(ends.at_server.back().call == id);
  CHECK(ends.at_server.back().head.empty());
  const std::size_t before = ends.at_server.size();
  give(ends, stream::frame({FrameKind::end, 0, 0, 0, id, 0}));
  give(ends, stream::frame({FrameKind::end, 0, 0, 0, id, 0}));
  CHECK(ends.at_server.size() == before + 1);
  give(ends, stream::frame({FrameKind::cancel, 0, 0, 0, id, 0}));
  give(ends, stream::frame({FrameKind::cancel, 0, 0, 0, id, 0}));
  CHECK(ends.at_server.size() == before + 2);
  for (const FrameKind kind : {FrameKind::item, FrameKind::end})  // too late: ignored
    give(ends, stream::frame({kind, 0, 0, 0, id, 0}));
  give(ends, stream::frame({FrameKind::credit, 0, 0, 0, id, 0}, text({5})));
  CHECK(ends.at_server.size() == before + 2);
  CHECK_FALSE(ends.server.finished());
}

TEST_CASE("ServerCore: the body in chunks of a refused request causes no events", "[rpc]") {
  const auto budget = std::make_shared<distrib::ServerBudget>(distrib::RpcServerOptions{});
  budget->takes_chunks = [](std::uint32_t method) { return method == 1; };
  Pair ends{budget};
  ends.carry();
  const std::size_t before = ends.at_server.size();
  const auto large = [](std::uint64_t call, std::uint32_t method) {
    return stream::frame({FrameKind::request, 0, method, 0, call, 0}, text({1000, 0}), stream::body(10'000));
  };
  const auto give_all = [&](const Bytes& bytes) {
    for (std::size_t at = 0; at < bytes.size();) {
      at += stream::give(ends.server, distrib::ByteView{bytes}.subspan(at), 3000, ends.now);
      ends.take_events();
      ends.server.keep();
    }
  };
  const std::uint64_t id = 1ULL << 32;
  give_all(large(id | 5000, 1));  // too many calls
  CHECK(ends.at_server.size() == before);
  give_all(large(id, 2));  // this method wants its body whole
  REQUIRE(ends.at_server.size() == before + 1);
  CHECK(ends.at_server.back().body_bytes == 10'000);
  CHECK(budget->bytes == 8 + 10'000 + ends.server.output().front().bytes().size());
  const std::size_t whole = ends.at_server.size();
  give_all(large(id | 5000, 1));
  CHECK(ends.at_server.size() == whole);
  give_all(large(id | 1, 1));
  REQUIRE(ends.at_server.size() > whole + 2);
  std::size_t bytes = 0;
  for (std::size_t i = whole; i < ends.at_server.size(); ++i) {
    CHECK(ends.at_server[i].call == (id | 1));
    bytes += ends.at_server[i].body_bytes;
  }
  CHECK(bytes == 10'000);
  CHECK(ends.at_server.back().kind == static_cast<int>(distrib::ServerEvent::Kind::body_end));
}

TEST_CASE("ServerCore: an item that is too large for the client fails only its call", "[rpc]") {
  distrib::RpcClientOptions small;
  small.limits = {50, 500};
  Pair ends{distrib::RpcServerOptions{}, small};
  const auto id = ends.call("a"), other = ends.call("a");
  ends.carry();
  CHECK(ends.server.item(id, std::vector<std::byte>(50), stream::body(500)));
  CHECK_FALSE(ends.server.item(id, {}, stream::body(501)));
  CHECK_FALSE(ends.server.item(other, std::vector<std::byte>(51)));
  ends.carry();
  CHECK(ends.at_client.back().call == other);
  CHECK(ends.at_client.back().code == rpc_errc::too_large);
  CHECK(ends.server.calls() == 0);
  CHECK_FALSE(ends.client.finished());

  const auto told = ends.call("a");
  ends.carry();
  ends.server.fail(told, rpc_errc::exhausted, std::string(1000, 'w'));  // longer than the client accepts
  ends.carry();
  CHECK(ends.at_client.back().call == told);
  CHECK(ends.at_client.back().code == rpc_errc::exhausted);
  CHECK(ends.at_client.back().where == std::string(25, 'w'));  // half of what it accepts
  CHECK_FALSE(ends.client.finished());
}

TEST_CASE("ServerCore: over server_bytes it checks again every 20 ms, and the client does not count as silent",
          "[rpc]") {
  distrib::RpcServerOptions options;
  options.server_bytes = 1000;
  const auto budget = std::make_shared<distrib::ServerBudget>(options);
  Pair ends{budget};
  ends.carry();
  budget->bytes = 1001;
  give(ends, request(1ULL << 32, text({0xffffffff, 0})));
  CHECK(ends.server.calls() == 0);
  CHECK(*ends.server.wake() == ends.now + 20ms);
  for (int i = 0; i < 5000; ++i) ends.pass(20ms);
  CHECK_FALSE(ends.server.finished());  // after 100 seconds: the client could not send
  budget->bytes = 1000;
  CHECK(ends.server.ready());
  ends.pass(0ms);
  ends.take_events();
  CHECK(ends.server.calls() == 1);
}

TEST_CASE("ServerCore: its frames have no flags and no method; those about a call have its number", "[rpc]") {
  Pair ends;
  const auto read = ends.call("a"), written = ends.call("a"), failed = ends.call("a");
  while (ends.client.item(written, {})) {
  }
  ends.carry();
  for (unsigned i = 0; i < distrib::initial_credit; ++i) ends.server.taken(written, 0);
  ends.server.reply(written, {});
  CHECK(ends.server.item(read, {}));
  ends.server.end_stream(read);
  ends.server.fail(failed, rpc_errc::too_large);
  ends.server.drain(ends.now + 1s);
  const std::map<FrameKind, std::uint64_t> calls{{FrameKind::credit, written}, {FrameKind::reply, written},
                                                 {FrameKind::item, read},      {FrameKind::end, read},
                                                 {FrameKind::error, failed},   {FrameKind::goodbye, 0}};
  std::map<FrameKind, std::uint64_t> sent;
  for (const distrib::FrameHeader& header : stream::headers_of(stream::take_output(ends.server, ends.now))) {
    CHECK(header.flags == 0);
    CHECK(header.method == 0);
    sent[header.kind] = header.call;
  }
  CHECK(sent == calls);
}
