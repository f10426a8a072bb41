// SPDX-License-Identifier: Apache-2.0
// A conversation with every kind of frame, small and large, is passed to both ends whole, byte by byte, and divided in
// two at every position: the events and the answers are always the same.
#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/server_core.hpp>

#include "rpc/stream.hpp"
#include "support/catch.hpp"

#include <array>
#include <chrono>
#include <functional>
#include <set>
#include <string>
#include <vector>

using distrib::ByteView;
using distrib::FrameHeader;
using distrib::FrameKind;
using stream::Bytes;
using namespace std::chrono_literals;

namespace {

const distrib::Instant now{1h};

/// What an end made of the bytes that it received.
struct Outcome {
  struct Event {
    int kind;
    std::uint64_t call;
    std::uint32_t number;  // method or service
    std::string head;
    std::string metadata;
    std::uint32_t body_checksum;
    std::error_code code;
    std::string where;
    std::optional<distrib::Instant> deadline;
    auto operator==(const Event&) const -> bool = default;
  };
  std::vector<Event> events;
  std::vector<std::string> bodies;
  std::vector<distrib::FrameBody> owned;
  std::vector<std::size_t> owned_of;
  Bytes answers;
  std::size_t calls = 0;
  std::error_code reason;

  /// Adds the rest of a body, in however many pieces it arrives.
  void add_chunk(std::uint64_t call, const distrib::FrameBody& body) {
    constexpr int chunk = -1;
    if (events.empty() || events.back().kind != chunk) add({chunk, call, 0, {}, {}, 0, {}, {}, {}}, {});
    bodies.back() += distrib::as_text(body.bytes());
  }

  void add(Event event, const distrib::FrameBody& body) {
    if (body.owner() != nullptr) {
      owned.push_back(body);
      owned_of.push_back(bodies.size());
    }
    bodies.emplace_back(distrib::as_text(body.bytes()));
    events.push_back(std::move(event));
  }
  auto same_as(const Outcome& other) const -> bool {
    bool owned_stay = true;
    for (std::size_t i = 0; i < owned.size(); ++i)
      owned_stay = owned_stay && distrib::as_text(owned[i].bytes()) == bodies[owned_of[i]];
    return owned_stay && events == other.events && bodies == other.bodies && answers == other.answers &&
           calls == other.calls && reason == other.reason;
  }
};

/// Frames one after the other, and where they and their parts end.
struct Conversation {
  Bytes bytes;
  std::vector<std::size_t> ends;

  void say(FrameKind kind, std::uint64_t call = 0, const std::string& head = {},
           const distrib::SharedBuffer& body = nullptr) {
    const auto frame = stream::frame({kind, 0, kind == FrameKind::request ? 7U : 0U, 0, call, 0}, head, body);
    const auto part_ends = [&](std::size_t size) {
      if (size == 0) return;
      ends.push_back(ends.back() + size);
      ends.push_back(ends.back() + distrib::frame_checksum_bytes);
    };
    ends.push_back(bytes.size());
    ends.push_back(bytes.size() + distrib::frame_header_bytes);
    part_ends(head.size());
    part_ends(body == nullptr ? 0 : body->size());
    bytes.insert(bytes.end(), frame.begin(), frame.end());
  }

  /// Returns every position within 64 bytes of an end; in small frames that is every position.
  auto cuts() const -> std::set<std::size_t> {
    std::set<std::size_t> cuts;
    for (const std::size_t end : ends)
      for (std::size_t at = end < 64 ? 0 : end - 64; at <= std::min(end + 64, bytes.size()); ++at) cuts.insert(at);
    return cuts;
  }
};

auto u32(std::uint32_t number) -> std::string { return {reinterpret_cast<const char*>(&number), sizeof number}; }

auto id(std::uint32_t slot, std::uint64_t generation = 1) -> std::uint64_t { return generation << 32 | slot; }

auto request_head(std::uint32_t left, const std::string& metadata, const std::string& head) -> std::string {
  return u32(left) + u32(static_cast<std::uint32_t>(metadata.size())) + metadata + head;
}

constexpr std::uint32_t no_deadline = 0xffffffff;

auto greeting() -> std::string {
  distrib::Greeting hello;
  hello.max_calls = 100;
  return std::string{distrib::as_text(hello.encode())};
}

/// Returns what a client sends.
auto to_server() -> Conversation {
  Conversation said;
  said.say(FrameKind::greeting, 0, greeting());
  said.say(FrameKind::request, id(0), request_head(no_deadline, "", ""));
  said.say(FrameKind::request, id(1), request_head(1'000, "who I am", "head"), stream::body(100));
  said.say(FrameKind::ping);
  said.say(FrameKind::request, id(2), request_head(no_deadline, "m", std::string(17'000, 'h')));
  said.say(FrameKind::cancel, id(0));
  said.say(FrameKind::request, id(0, 2), request_head(no_deadline, "", "head"), stream::body(5'000));
  said.say(FrameKind::credit, id(1), u32(3));
  said.say(FrameKind::request, id(3), request_head(no_deadline, std::string(9'000, 'm'), std::string(9'000, 'h')),
           stream::body(5'000, 9));
  said.say(FrameKind::request, id(4), "short");  // only this call is refused
  said.say(FrameKind::pong);
  said.say(FrameKind::goodbye);
  said.say(FrameKind::request, id(5), request_head(no_deadline, "", "after goodbye"));
  return said;
}

/// Returns what a server sends up to the end of the connection, and more after it.
auto to_client() -> Conversation {
  Conversation said;
  distrib::WireWriter error;
  distrib::encode_error(error, distrib::rpc_errc::exhausted, "rank 3");
  const std::string exhausted{distrib::as_text(error.view())};
  said.say(FrameKind::greeting, 0, greeting());
  said.say(FrameKind::reply, id(1));
  said.say(FrameKind::reply, id(0), "head", stream::body(100));
  said.say(FrameKind::ping);
  said.say(FrameKind::reply, id(2), std::string(17'000, 'h'));
  said.say(FrameKind::error, id(3), exhausted);
  said.say(FrameKind::reply, id(4), "head", stream::body(5'000));
  for (int i = 0; i < 33; ++i) said.say(FrameKind::item, id(5), i % 11 == 0 ? "item" : "");  // credit is granted once
  said.say(FrameKind::item, id(5), std::string(17'000, 'i'), stream::body(5'000));
  said.say(FrameKind::reply, id(4), "late");
  said.say(FrameKind::end, id(5));
  said.say(FrameKind::pong);
  said.say(FrameKind::goodbye);
  said.say(FrameKind::error, 0, exhausted);  // for the connection: ends the last call
  said.say(FrameKind::reply, id(6), "behind the end");
  return said;
}

/// Passes `bytes` to the core, first those before `cut`, at most `piece` at a time.
template <class Core, class Take>
void hand(Core& core, const Bytes& bytes, std::size_t cut, std::size_t piece, const Take& take) {
  for (std::size_t at = 0; at < bytes.size() && core.reads();) {
    const std::size_t end = at < cut ? cut : bytes.size();
    at += stream::give(core, ByteView{bytes}.subspan(at, end - at), piece, now);
    take();
    core.keep();
  }
}

auto server_hears_from(distrib::ServerCore core, const Bytes& bytes, std::size_t cut, std::size_t piece) -> Outcome {
  Outcome outcome;
  hand(core, bytes, cut, piece, [&] {
    for (distrib::ServerEvent event; core.next(now, event);) {
      if (event.kind == distrib::ServerEvent::Kind::chunk) {
        outcome.add_chunk(event.call, event.body);
        continue;
      }
      outcome.add({static_cast<int>(event.kind),
                   event.call,
                   event.method + event.service,
                   std::string{distrib::as_text(event.head)},
                   std::string{distrib::as_text(event.metadata)},
                   event.body_checksum,
                   {},
                   {},
                   event.deadline},
                  event.body);
      // Items beyond the first credit are refused, and tried again when there is more credit.
      if (event.call == id(1))
        while (core.item(id(1), distrib::as_bytes("i"))) {
        }
    }
  });
  outcome.answers = stream::take_output(core, now);
  outcome.calls = core.calls();
  outcome.reason = core.reason();
  return outcome;
}

auto server_hears(const Bytes& bytes, std::size_t cut, std::size_t piece) -> Outcome {
  return server_hears_from({distrib::RpcServerOptions{}, now}, bytes, cut, piece);
}

auto server_hears_chunks(const Bytes& bytes, std::size_t cut, std::size_t piece) -> Outcome {
  const auto budget = std::make_shared<distrib::ServerBudget>(distrib::RpcServerOptions{});
  budget->takes_chunks = [](std::uint32_t method) { return method == 7; };
  return server_hears_from({budget, now}, bytes, cut, piece);
}

auto client_hears_so(bool in_chunks, const Bytes& bytes, std::size_t cut, std::size_t piece) -> Outcome {
  distrib::ClientCore core{distrib::RpcClientOptions{}, now};
  for (std::uint32_t i = 0; i < 7; ++i) REQUIRE(core.call(1, {}, nullptr, {}, now) == id(i));
  for (std::uint32_t i = 0; i < 7; ++i)
    if (in_chunks) core.take_in_chunks(id(i));
  stream::take_output(core, now);
  Outcome outcome;
  const auto take = [&] {
    for (distrib::ClientEvent event; core.next(now, event);) {
      if (event.kind == distrib::ClientEvent::Kind::chunk) {
        outcome.add_chunk(event.call, event.body);
        continue;
      }
      outcome.add({static_cast<int>(event.kind),
                   event.call,
                   0,
                   std::string{distrib::as_text(event.head)},
                   {},
                   0,
                   event.error.code,
                   event.error.where,
                   {}},
                  event.body);
      if (event.kind == distrib::ClientEvent::Kind::item) core.taken(event.call);
    }
  };
  hand(core, bytes, cut, piece, take);
  take();
  outcome.answers = stream::take_output(core, now);
  outcome.calls = core.calls();
  outcome.reason = core.reason().code;
  return outcome;
}

auto client_hears(const Bytes& bytes, std::size_t cut, std::size_t piece) -> Outcome {
  return client_hears_so(false, bytes, cut, piece);
}

auto client_hears_chunks(const Bytes& bytes, std::size_t cut, std::size_t piece) -> Outcome {
  return client_hears_so(true, bytes, cut, piece);
}

template <class Hears>
void check(const Conversation& said, const Outcome& whole, Hears hears) {
  const std::size_t all = said.bytes.size();
  CHECK(hears(said.bytes, all, 1).same_as(whole));
  for (const std::size_t piece : {2U, 3U, 31U, 33U, 64U, 4096U, 65'536U})
    CHECK(hears(said.bytes, all, piece).same_as(whole));
  const auto cuts = said.cuts();
  CHECK(cuts.size() > 1000);
  std::vector<std::size_t> other;
  for (const std::size_t cut : cuts)
    if (!hears(said.bytes, cut, all).same_as(whole)) other.push_back(cut);
  CHECK(other.empty());
}

auto kinds_of(const Bytes& bytes) -> std::set<FrameKind> {
  std::set<FrameKind> kinds;
  distrib::FrameReader reader;
  for (std::size_t at = 0; at < bytes.size();) {
    at += stream::give(reader, ByteView{bytes}.subspan(at), bytes.size());
    for (distrib::Frame frame; reader.next(frame);) kinds.insert(frame.header->kind);
    reader.keep();
  }
  return kinds;
}

}  // namespace

TEST_CASE("Rpc cuts: a server sees the same events, however the bytes are divided", "[simulation]") {
  const Conversation said = to_server();
  const Outcome whole = server_hears(said.bytes, said.bytes.size(), said.bytes.size());
  using Kind = distrib::ServerEvent::Kind;
  std::vector<int> kinds;
  for (const auto& event : whole.events) kinds.push_back(event.kind);
  constexpr auto greeted = static_cast<int>(Kind::greeted);
  constexpr auto request = static_cast<int>(Kind::request);
  CHECK(kinds == std::vector{greeted, request, request, request, static_cast<int>(Kind::cancelled), request,
                             static_cast<int>(Kind::credit), request});
  CHECK(whole.calls == 4);
  CHECK_FALSE(whole.reason);
  const auto answered = kinds_of(whole.answers);
  CHECK(answered == std::set{FrameKind::greeting, FrameKind::error, FrameKind::pong, FrameKind::item});
  check(said, whole, server_hears);
}

TEST_CASE("Rpc cuts: a server sees the same bodies in chunks, however they are divided", "[simulation]") {
  const Conversation said = to_server();
  const Outcome at_once = server_hears(said.bytes, said.bytes.size(), said.bytes.size());
  const Outcome whole = server_hears_chunks(said.bytes, said.bytes.size(), said.bytes.size());
  using Kind = distrib::ServerEvent::Kind;
  std::vector<int> kinds;
  for (const auto& event : whole.events) kinds.push_back(event.kind);
  constexpr auto request = static_cast<int>(Kind::request);
  constexpr int chunk = -1;
  constexpr auto end = static_cast<int>(Kind::body_end);
  CHECK(kinds == std::vector{static_cast<int>(Kind::greeted), request, request, request,
                             static_cast<int>(Kind::cancelled), request, chunk, end, static_cast<int>(Kind::credit),
                             request, chunk, end});
  CHECK(whole.bodies[2].size() == 100);  // a small body arrives at once
  CHECK(whole.bodies[6] == at_once.bodies[5]);
  CHECK(whole.bodies[10] == at_once.bodies[7]);
  CHECK(whole.events[7].body_checksum == at_once.events[5].body_checksum);
  CHECK(whole.owned.empty());
  CHECK(whole.calls == at_once.calls);
  CHECK(whole.answers == at_once.answers);
  check(said, whole, server_hears_chunks);
}

TEST_CASE("Rpc cuts: a client sees the same events, however the bytes are divided", "[simulation]") {
  const Conversation said = to_client();
  const Outcome whole = client_hears(said.bytes, said.bytes.size(), said.bytes.size());
  CHECK(whole.events.size() == 1 + 5 + 34 + 1 + 1);
  CHECK(whole.calls == 0);
  CHECK(whole.events.back().call == id(6));
  CHECK(whole.events.back().code == distrib::rpc_errc::exhausted);
  CHECK(whole.reason == distrib::rpc_errc::exhausted);
  CHECK(kinds_of(whole.answers) == std::set{FrameKind::pong, FrameKind::credit});
  check(said, whole, client_hears);
}

TEST_CASE("Rpc cuts: a client sees the same replies in chunks, however they are divided", "[simulation]") {
  const Conversation said = to_client();
  const Outcome at_once = client_hears(said.bytes, said.bytes.size(), said.bytes.size());
  const Outcome whole = client_hears_chunks(said.bytes, said.bytes.size(), said.bytes.size());
  REQUIRE(whole.events.size() == at_once.events.size() + 2);  // one reply is large: its begin and its chunks
  const auto found = std::ranges::find(whole.events, -1, &Outcome::Event::kind);
  REQUIRE(found != whole.events.end());
  const auto at = static_cast<std::size_t>(found - whole.events.begin());
  CHECK(whole.events[at - 1].kind == static_cast<int>(distrib::ClientEvent::Kind::begun));
  CHECK(whole.events[at - 1].head == "head");
  CHECK(whole.events[at + 1].kind == static_cast<int>(distrib::ClientEvent::Kind::reply));
  CHECK(whole.events[at + 1].call == id(4));
  CHECK(whole.bodies[at] == at_once.bodies[at - 1]);
  check(said, whole, client_hears_chunks);
}

TEST_CASE("Rpc cuts: damage is found at the same position, however the bytes are divided", "[simulation]") {
  const Conversation said = to_server();
  const auto cuts = said.cuts();
  for (std::size_t at = 0; at < said.bytes.size(); at += 97) {
    Bytes damaged = said.bytes;
    damaged[at] ^= std::byte{0x40};
    const Outcome whole = server_hears(damaged, damaged.size(), damaged.size());
    CAPTURE(at);
    CHECK(whole.reason);
    CHECK(server_hears(damaged, at, damaged.size()).same_as(whole));
    CHECK(server_hears(damaged, at + 1, damaged.size()).same_as(whole));
    CHECK(server_hears(damaged, *cuts.lower_bound(at), damaged.size()).same_as(whole));
    if (at % 5 == 0) CHECK(server_hears(damaged, damaged.size(), 7).same_as(whole));
  }
}
