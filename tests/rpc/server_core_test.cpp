// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/server_core.hpp>

#include "rpc/pair.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <random>

using distrib::FrameKind;
using distrib::rpc_errc;
using pair::Pair;
using stream::Bytes;
using namespace std::chrono_literals;

namespace {

constexpr int greeted = static_cast<int>(distrib::ServerEvent::Kind::greeted);

/// Hands bytes to the server alone.
void give(Pair& pair, const Bytes& bytes) {
  REQUIRE(stream::give(pair.server, bytes, bytes.size(), pair.now) == bytes.size());
  pair.take_events();
  pair.server.keep();
}

auto text(std::initializer_list<std::uint32_t> numbers) -> std::string {
  std::string bytes;
  for (const std::uint32_t number : numbers)
    bytes.append(reinterpret_cast<const char*>(&number), sizeof number);
  return bytes;
}

auto request(std::uint64_t call, std::string_view head) -> Bytes {
  return stream::frame({FrameKind::request, 0, 1, 0, call, 0}, head);
}

}  // namespace

TEST_CASE("ServerCore: hears which service is wanted, and refuses one that it has not", "[rpc]") {
  distrib::RpcServerOptions three;
  three.services = 3;
  distrib::RpcClientOptions options;
  options.service = 2;
  {
    Pair pair{three, options};
    pair.carry();
    REQUIRE(pair.at_server.size() == 1);
    CHECK(pair.at_server[0].kind == greeted);
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
  CHECK_THAT(pair.at_client[0].where, ContainsSubstring("service 3 of 3"));
}

TEST_CASE("ServerCore: a stranger is closed without an answer, a damaged friend with one", "[rpc]") {
  {
    Pair pair;
    give(pair, Bytes(1000, std::byte{'G'}));
    CHECK(pair.server.finished());
    CHECK(pair.server.reason() == rpc_errc::not_ours);
    CHECK(pair.server.output().empty());
  }
  {
    Pair pair;  // a huge announcement before the greeting
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

TEST_CASE("ServerCore: frames that have no place end the connection", "[rpc]") {
  const Bytes wrong[] = {
      stream::frame({FrameKind::reply}), stream::frame({FrameKind::item}), stream::frame({FrameKind::greeting}),
      stream::frame({FrameKind::credit, 0, 0, 0, 1, 0}, "abc"), request(5, text({1, 0}))};  // a call without generation
  for (const Bytes& bytes : wrong) {
    Pair pair;
    pair.carry();
    give(pair, bytes);
    CHECK(pair.server.reason() == rpc_errc::protocol);
    pair.carry();
    CHECK(pair.client.reason().code == rpc_errc::protocol);  // it was told
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

TEST_CASE("ServerCore: a request that is not well formed is refused alone", "[rpc]") {
  Pair pair;
  pair.carry();
  const std::size_t before = pair.at_server.size();
  give(pair, request(1ULL << 32, "short"));
  give(pair, request((1ULL << 32) | 1, text({10, 1})));  // metadata that is not there
  give(pair, request((1ULL << 32) | 2, text({0, 0})));   // no time left
  give(pair, request((1ULL << 32) | 5000, text({10, 0})));  // more calls than allowed
  CHECK(pair.at_server.size() == before);
  CHECK(pair.server.calls() == 0);
  CHECK_FALSE(pair.server.finished());
  give(pair, request((1ULL << 32) | 3, text({10, 4}) + "metahead"));
  REQUIRE(pair.at_server.size() == before + 1);
  CHECK(pair.at_server.back().head == "head");
}

TEST_CASE("ServerCore: time limits of greeting and silence", "[rpc]") {
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
  for (int i = 0; i < 20; ++i) {  // the client's pings keep it
    pair.pass(10s);
    pair.carry();
  }
  CHECK_FALSE(pair.server.finished());
  pair.now += 60s;
  pair.server.woken(pair.now);
  CHECK(pair.server.reason() == rpc_errc::silent);
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
  CHECK(answered == 4);  // checked at each frame, not at each read
  CHECK_FALSE(pair.server.reads());
  CHECK_FALSE(pair.server.ready());
  pair.server.keep();
  while (!pair.server.output().empty()) {  // the client reads: what was parked comes first
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

TEST_CASE("ServerCore: whatever a peer sends, it answers or closes, and never more than it was asked", "[rpc]") {
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

TEST_CASE("ServerCore: drained before the greeting, it says that it takes no more", "[rpc]") {
  pair::Pair ends;
  ends.call("test.Echo", "too late");
  ends.server.drain();
  ends.carry();
  CHECK(ends.server.finished());
  REQUIRE(ends.at_client.size() == 1);
  CHECK(ends.at_client[0].code == distrib::rpc_errc::closed);
}
