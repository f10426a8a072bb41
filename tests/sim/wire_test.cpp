// SPDX-License-Identifier: Apache-2.0
#include <distrib/sim/wire.hpp>

#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/server_core.hpp>

#include "rpc/stream.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <chrono>
#include <cstddef>
#include <map>
#include <memory>
#include <optional>
#include <set>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

using distrib::ClientCore;
using distrib::ClientEvent;
using distrib::ServerCore;
using distrib::ServerEvent;
using distrib::sim::Dice;
using distrib::sim::Scheduler;
using distrib::sim::Wire;
using namespace std::chrono_literals;

namespace {

/// A client that makes calls at random times over one connection, and a server that answers some of them late, some
/// with an error and some never. The connection may break, stall or become half open; an end may die or leave.
class Run {
 public:
  explicit Run(std::uint64_t seed) : dice_{seed}, byte_by_byte_{dice_.percent(30)} {
    const distrib::sim::NetworkOptions options{1ms, byte_by_byte_ ? std::size_t{1} : std::size_t{5000}};
    wire_ = std::make_shared<Wire<ClientCore, ServerCore>>(scheduler_, dice_, options);
    wire_->attach(client_, [this] { take_client(); }, server_, [this] { take_server(); });
  }

  /// Returns an empty text if every call ended once, and each answer was that of its own call; otherwise what was
  /// wrong.
  auto run() -> std::string {
    for (int i = 0; i < 30; ++i) scheduler_.after(some_time(), [this] { make_call(); });
    const auto fate = dice_.below(6);
    scheduler_.after(some_time(), [this, fate] {
      if (fate == 0) wire_->reset();
      if (fate == 1) wire_->detach_b();
      if (fate == 2) server_.drain(scheduler_.now() + std::chrono::minutes{1});
      if (fate == 3) wire_->stall(scheduler_.now() + 4 * some_time());
      if (fate == 4) wire_->half_open(dice_.percent(30), dice_.percent(30));
      wire_->flush();
    });
    scheduler_.after(10s, [this] {
      client_.close();
      wire_->flush();
    });
    for (int events = 0; scheduler_.step(); ++events)
      if (events > 200'000) return "it never ends";
    if (!wrong_.empty()) return wrong_;
    if (client_.calls() != 0) return "a call has no end";
    for (const auto& [call, ends] : ends_)
      if (ends != 1) return "a call ended " + std::to_string(ends) + " times";
    return ends_.size() == 30 ? "" : "a call was lost";
  }

  auto answered() const -> int { return answered_; }

 private:
  auto some_time() -> std::chrono::microseconds { return std::chrono::microseconds{dice_.below(20'000)}; }

  auto some_body() -> distrib::SharedBuffer {
    if (dice_.percent(80)) return nullptr;
    return stream::body(dice_.below(byte_by_byte_ ? 100 : 20'000));
  }

  void make_call() {
    std::optional<distrib::Instant> deadline = scheduler_.now() + 5s;
    if (dice_.percent(20)) deadline = scheduler_.now() + some_time();
    distrib::SharedBuffer body = some_body();
    const auto text = std::to_string(++made_);
    const auto call = client_.call(1, distrib::as_bytes(text), std::move(body), deadline, scheduler_.now());
    asked_[call] = text;
    ends_[call] += 0;
    if (dice_.percent(10))
      scheduler_.after(some_time(), [this, call] {
        client_.cancel(call);
        take_client();
        wire_->flush();
      });
    scheduler_.after(0us, [this] {  // as a shell does: never inside `call`
      take_client();
      wire_->flush();
    });
  }

  void take_client() {
    for (ClientEvent event; client_.next(scheduler_.now(), event);) {
      if (event.kind == ClientEvent::Kind::greeted) continue;
      ++ends_[event.call];
      if (event.kind != ClientEvent::Kind::reply) continue;
      ++answered_;
      if (distrib::as_text(event.head) != asked_[event.call]) wrong_ = "the answer of another call";
    }
  }

  void take_server() {
    for (ServerEvent event; server_.next(scheduler_.now(), event);) {
      if (event.kind != ServerEvent::Kind::request) continue;
      const auto chance = dice_.below(10);
      if (chance == 0) continue;  // this call is never answered
      const std::string text{distrib::as_text(event.head)};
      scheduler_.after(some_time(), [this, chance, call = event.call, text] {
        if (chance == 1) server_.fail(call, distrib::rpc_errc::exhausted);
        else server_.reply(call, distrib::as_bytes(text), some_body());
        take_server();
        wire_->flush();
      });
    }
  }

  Dice dice_;
  bool byte_by_byte_;
  Scheduler scheduler_;
  ClientCore client_{{}, scheduler_.now()};
  ServerCore server_{distrib::RpcServerOptions{}, scheduler_.now()};
  std::shared_ptr<Wire<ClientCore, ServerCore>> wire_;
  std::map<std::uint64_t, std::string> asked_;
  std::map<std::uint64_t, int> ends_;
  int made_ = 0;
  int answered_ = 0;
  std::string wrong_;
};

}  // namespace

TEST_CASE("Wire: with 1000 seeds every call of a client ends once, with its own answer", "[sim]") {
  int answered = 0;
  for (std::uint64_t seed = 0; seed < 1000; ++seed) {
    Run run{seed};
    const std::string wrong = run.run();
    if (!wrong.empty()) {
      CAPTURE(seed);
      CHECK(wrong == "");
      break;
    }
    answered += run.answered();
  }
  CHECK(answered > 5'000);
}

TEST_CASE("Wire: a run is a function of its seed", "[sim]") {
  Run first{5};
  Run second{5};
  CHECK(first.run() == second.run());
  CHECK(first.answered() == second.answered());
}

namespace {

/// A client, and a server that answers each call at once with its text. Writes down what the client received, and when.
struct Pair {
  Pair() {
    wire->attach(client, [this] { take_client(); }, server, [this] { take_server(); });
  }
  void call(std::string_view text) {
    client.call(1, distrib::as_bytes(text), nullptr, std::nullopt, scheduler.now());
    wire->flush();
  }
  void take_client() {
    for (ClientEvent event; client.next(scheduler.now(), event);) {
      if (event.kind == ClientEvent::Kind::greeted) continue;
      const auto passed = std::chrono::duration_cast<std::chrono::seconds>(scheduler.now() - begun);
      const bool answered = event.kind == ClientEvent::Kind::reply;
      heard += std::to_string(passed.count()) + " " +
               (answered ? std::string{distrib::as_text(event.head)} : "failed") + "\n";
    }
  }
  void take_server() {
    for (ServerEvent event; server.next(scheduler.now(), event);)
      if (event.kind == ServerEvent::Kind::request) server.reply(event.call, event.head, distrib::SharedBuffer{});
    server_gone = server_gone || server.finished();
  }

  Dice dice{1};
  Scheduler scheduler;
  distrib::Instant begun = scheduler.now();
  ClientCore client{{}, begun};
  ServerCore server{distrib::RpcServerOptions{}, begun};
  std::shared_ptr<Wire<ClientCore, ServerCore>> wire =
      std::make_shared<Wire<ClientCore, ServerCore>>(scheduler, dice, distrib::sim::NetworkOptions{1ms, 1});
  std::string heard;
  bool server_gone = false;
};

void run_until(Pair& pair, std::chrono::seconds end) {
  bool over = false;
  pair.scheduler.at(pair.begun + end, [&] { over = true; });
  while (!over && pair.scheduler.step()) {
  }
}

}  // namespace

TEST_CASE("Wire: after a stall everything that was sent arrives, in order", "[sim]") {
  Pair pair;
  run_until(pair, 1s);
  pair.call("before");
  run_until(pair, 2s);
  pair.call("on its way");
  pair.wire->stall(pair.begun + 7s);
  pair.call("first");
  run_until(pair, 5s);
  pair.call("second");
  CHECK(pair.heard == "1 before\n");
  run_until(pair, 8s);
  CHECK(pair.heard == "1 before\n7 on its way\n7 first\n7 second\n");
  CHECK_FALSE(pair.wire->broken());
}

TEST_CASE("Wire: half open: an end that is told knows at once, an end that is not told after its own deadlines",
          "[sim]") {
  for (const bool server_knows : {true, false}) {
    Pair pair;
    run_until(pair, 1s);
    pair.call("before");
    run_until(pair, 2s);
    pair.wire->half_open(false, server_knows);
    CHECK(pair.wire->broken());
    run_until(pair, 3s);
    CHECK(pair.server_gone == server_knows);
    pair.call("lost");
    run_until(pair, 25s);
    CHECK(pair.heard == "1 before\n");
    run_until(pair, 70s);
    CHECK(pair.heard == "1 before\n31 failed\n");  // RpcClientOptions::silent_after
    CHECK(pair.server_gone);
  }
}

namespace {

/// A core that sends what it is given, and keeps what it reads and what it was told.
struct WireTape {
  [[nodiscard]] auto reads() const -> bool { return wants && !finished(); }
  auto read_space(std::span<std::byte> lent) -> distrib::ReadSpace {
    front = std::span{own}.first(front_bytes);
    back = lent.first(back_bytes);
    return {front, back};
  }
  void bytes_read(std::size_t count, distrib::Instant) {
    const std::size_t in_front = std::min(count, front.size());
    received += distrib::as_text(front.first(in_front));
    received += distrib::as_text(back.first(count - in_front));
    ++reads_made;
    largest_read = std::max(largest_read, count);
  }
  void keep() { ++kept; }
  [[nodiscard]] auto ready() const -> bool { return false; }
  auto output() -> const std::vector<distrib::ByteView>& {
    if (writing.empty()) writing.swap(pending);
    views.assign(writing.begin(), writing.end());
    return views;
  }
  void written(distrib::Instant) {
    writing.clear();
    ++writes_made;
  }
  [[nodiscard]] auto wake() const -> std::optional<distrib::Instant> { return alarm; }
  void woken(distrib::Instant now) {
    woken_at.push_back(now);
    alarm.reset();
  }
  void lost(const std::error_code& why) {
    ++losses;
    reason = why;
    received_when_lost = received;
  }
  [[nodiscard]] auto finished() const -> bool { return is_finished || losses != 0; }

  void send(const std::string& text) {
    texts.push_back(std::make_unique<std::string>(text));
    pending.push_back(distrib::as_bytes(*texts.back()));
  }

  std::array<std::byte, 64> own{};
  std::size_t front_bytes = 5;
  std::size_t back_bytes = 3;
  std::span<std::byte> front, back;
  std::vector<std::unique_ptr<std::string>> texts;
  std::vector<distrib::ByteView> pending, writing, views;
  std::string received, received_when_lost;
  std::optional<distrib::Instant> alarm;
  std::vector<distrib::Instant> woken_at;
  std::error_code reason;
  std::size_t largest_read = 0;
  int losses = 0;
  int reads_made = 0;
  int writes_made = 0;
  int kept = 0;
  bool wants = true;
  bool is_finished = false;
};

/// Two of these cores with a wire between them.
struct Tapes {
  explicit Tapes(std::size_t piece_bytes = 4096, std::uint64_t seed = 1, std::chrono::microseconds latency = 1ms)
      : dice{seed} {
    wire =
        std::make_shared<Wire<WireTape, WireTape>>(scheduler, dice, distrib::sim::NetworkOptions{latency, piece_bytes});
    wire->attach(a, [this] { ++a_events; }, b, [this] { ++b_events; });
  }
  void send_a(const std::string& text) {
    a.send(text);
    wire->flush();
  }
  void run_for(std::chrono::microseconds time) {
    bool over = false;
    scheduler.after(time, [&] { over = true; });
    while (!over && scheduler.step()) {
    }
  }

  Dice dice;
  Scheduler scheduler;
  distrib::Instant begun = scheduler.now();
  WireTape a, b;
  int a_events = 0, b_events = 0;
  std::shared_ptr<Wire<WireTape, WireTape>> wire;
};

}  // namespace

TEST_CASE("Wire: bytes of an end that has left are held up by a stall, then read before the peer is told", "[sim]") {
  for (std::uint64_t seed = 1; seed <= 50; ++seed) {
    CAPTURE(seed);
    Tapes tapes{4096, seed};
    tapes.send_a("the last words");
    tapes.wire->stall(tapes.begun + 1s);
    tapes.wire->detach_a();
    tapes.run_for(999ms);
    CHECK(tapes.b.received.empty());
    CHECK(tapes.b.losses == 0);
    tapes.run_for(100ms);
    CHECK(tapes.b.losses == 1);
    CHECK_FALSE(tapes.b.reason);
    CHECK(tapes.b.received_when_lost == "the last words");
    CHECK(tapes.a.losses == 0);  // its process has ended: it is not told
  }
}

TEST_CASE("Wire: that an end has left reaches the peer after a latency", "[sim]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Tapes tapes{4096, seed};
    tapes.wire->detach_a();
    tapes.run_for(0us);
    CHECK(tapes.b.losses == 0);
    tapes.run_for(10ms);
    CHECK(tapes.b.losses == 1);
    CHECK_FALSE(tapes.b.reason);
  }
}

TEST_CASE("Wire: to detach an end twice does what once does, and draws no further random number", "[sim]") {
  Tapes once, twice;
  once.wire->detach_a();
  twice.wire->detach_a();
  twice.wire->detach_a();
  CHECK(once.dice.below(1'000'000) == twice.dice.below(1'000'000));
  twice.run_for(10ms);
  CHECK(twice.b.losses == 1);
}

TEST_CASE("Wire: when the second end leaves, nobody is there to be told", "[sim]") {
  Tapes one_left, both_left;
  one_left.wire->detach_a();
  both_left.wire->detach_a();
  both_left.wire->detach_b();
  CHECK(both_left.scheduler.waiting() == one_left.scheduler.waiting());
  CHECK(one_left.dice.below(1'000'000) == both_left.dice.below(1'000'000));
}

TEST_CASE("Wire: what an end sends arrives in order, in pieces of any size up to the limit", "[sim]") {
  for (const std::size_t piece_bytes : {1U, 3U, 4096U})
    for (std::uint64_t seed = 1; seed <= 20; ++seed) {
      CAPTURE(piece_bytes, seed);
      Tapes tapes{piece_bytes, seed};
      std::string all;
      for (int i = 0; i < 40; ++i) {
        const std::string text = "message " + std::to_string(i) + ";";
        all += text;
        tapes.send_a(text);
        tapes.b.send(text);
        tapes.wire->flush();
        tapes.run_for(std::chrono::microseconds{tapes.dice.below(900)});
      }
      tapes.run_for(1s);
      CHECK(tapes.b.received == all);
      CHECK(tapes.a.received == all);
      CHECK(tapes.a.losses + tapes.b.losses == 0);
      CHECK(tapes.a_events == tapes.a.reads_made + tapes.a.writes_made);
      CHECK(tapes.a.kept == tapes.a_events);
      const auto size = static_cast<int>(all.size());
      if (piece_bytes == 1) CHECK(tapes.b.reads_made == size);
      else CHECK(tapes.b.reads_made < size);
      CHECK(tapes.b.largest_read <= std::min<std::size_t>(piece_bytes, 8));  // its read space has 8 bytes
      if (piece_bytes > 1) CHECK(tapes.b.largest_read > 1);
    }
}

TEST_CASE("Wire: arriving takes up to its latency, and so does writing; one output at a time", "[sim]") {
  std::set<std::int64_t> arrived;
  for (std::uint64_t seed = 1; seed <= 60; ++seed) {
    Tapes tapes{4096, seed};
    tapes.send_a("1");
    tapes.a.send("2");
    tapes.wire->flush();
    CHECK(tapes.a.writes_made == 0);
    while (tapes.b.received.empty()) REQUIRE(tapes.scheduler.step());
    const auto after = tapes.scheduler.now() - tapes.begun;
    CHECK(after > 0us);
    CHECK(after <= 1ms);
    arrived.insert(after.count());
    CHECK(tapes.b.received == "1");
    tapes.run_for(2ms);
    CHECK(tapes.b.received == "12");
    CHECK(tapes.a.writes_made == 2);
    CHECK(tapes.scheduler.waiting() == 0);  // no event is left
  }
  CHECK(arrived.size() > 50);
}

TEST_CASE("Wire: attach() sends what the cores want to send at that time", "[sim]") {
  Dice dice{1};
  Scheduler scheduler;
  WireTape a, b;
  a.send("to b");
  b.send("to a");
  const auto wire =
      std::make_shared<Wire<WireTape, WireTape>>(scheduler, dice, distrib::sim::NetworkOptions{1ms, 4096});
  wire->attach(a, [] {}, b, [] {});
  while (scheduler.step()) {
  }
  CHECK(a.received == "to a");
  CHECK(b.received == "to b");
  CHECK_FALSE(wire->broken());
}

TEST_CASE("Wire: reset() tells both ends why, once, and what is on its way is lost", "[sim]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Tapes tapes{4096, seed};
    tapes.send_a("lost");
    tapes.wire->reset();
    CHECK(tapes.wire->broken());
    CHECK(tapes.a.losses + tapes.b.losses == 0);  // they are told later, not inside reset()
    tapes.wire->reset();
    tapes.wire->half_open(true, true);
    tapes.run_for(1ms);
    for (const WireTape* end : {&tapes.a, &tapes.b}) {
      CHECK(end->losses == 1);
      CHECK(end->reason == std::errc::connection_reset);
      CHECK(end->received.empty());
    }
    CHECK(tapes.a_events == 1);
    CHECK(tapes.b_events == 1);
    tapes.send_a("too late");
    tapes.run_for(1s);
    CHECK(tapes.b.received.empty());
    CHECK(tapes.a.losses == 1);
    CHECK(tapes.a.writes_made == 0);
    CHECK(tapes.scheduler.waiting() == 0);
  }
}

TEST_CASE("Wire: half open: tells the ends that it should, delivers nothing, and still accepts output", "[sim]") {
  for (const bool a_knows : {false, true})
    for (const bool b_knows : {false, true}) {
      CAPTURE(a_knows, b_knows);
      Tapes tapes;
      tapes.send_a("lost");
      tapes.wire->half_open(a_knows, b_knows);
      CHECK(tapes.wire->broken());
      tapes.wire->half_open(true, true);  // no effect: it is half open already
      tapes.run_for(10ms);
      CHECK(tapes.a.losses == (a_knows ? 1 : 0));
      CHECK(tapes.b.losses == (b_knows ? 1 : 0));
      if (!a_knows) {
        CHECK(tapes.a.writes_made == 1);
        tapes.send_a("lost, too");
        tapes.run_for(10ms);
        CHECK(tapes.a.writes_made == 2);  // accepted, as by the buffer of a socket
      }
      CHECK(tapes.b.received.empty());
      tapes.wire->reset();
      tapes.run_for(10ms);
      CHECK(tapes.a.losses == 1);
      CHECK(tapes.b.losses == 1);
    }
}

TEST_CASE("Wire: a stall lasts until the latest time that was given", "[sim]") {
  Tapes tapes;
  tapes.wire->stall(tapes.begun + 10s);
  tapes.wire->stall(tapes.begun + 5s);
  tapes.send_a("text");
  tapes.run_for(9999ms);
  CHECK(tapes.b.received.empty());
  CHECK_FALSE(tapes.wire->broken());
  tapes.run_for(2ms);
  CHECK(tapes.b.received == "text");
}

TEST_CASE("Wire: a core is woken once, at the earliest time that it has asked for", "[sim]") {
  Tapes tapes;
  tapes.a.alarm = tapes.begun + 5ms;
  tapes.wire->flush();
  tapes.a.alarm = tapes.begun + 2ms;
  tapes.wire->flush();
  tapes.wire->flush();
  tapes.run_for(10ms);
  CHECK(tapes.a.woken_at == std::vector{tapes.begun + 2ms});
  CHECK(tapes.a_events == 1);
  tapes.a.alarm = tapes.begun + 20ms;
  tapes.b.alarm = tapes.begun + 15ms;
  tapes.wire->flush();
  tapes.run_for(20ms);
  CHECK(tapes.a.woken_at == std::vector{tapes.begun + 2ms, tapes.begun + 20ms});
  CHECK(tapes.b.woken_at == std::vector{tapes.begun + 15ms});
  tapes.a.alarm = tapes.begun + 40ms;
  tapes.wire->flush();
  tapes.wire->detach_a();
  tapes.run_for(20ms);
  CHECK(tapes.a.woken_at.size() == 2);  // a is detached
}

TEST_CASE("Wire: what arrived while a core did not want to read is read after its next event", "[sim]") {
  Tapes tapes;
  tapes.b.wants = false;
  tapes.b.alarm = tapes.begun + 50ms;
  tapes.send_a("some text");
  tapes.run_for(40ms);
  CHECK(tapes.b.received.empty());
  tapes.b.wants = true;
  tapes.run_for(5ms);
  CHECK(tapes.b.received.empty());
  tapes.run_for(20ms);
  CHECK(tapes.b.received == "some text");
}

TEST_CASE("Wire: an end that is finished leaves when all its output is written, and the peer reads it", "[sim]") {
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {
    CAPTURE(seed);
    Tapes tapes{2, seed};
    tapes.send_a("good");
    tapes.a.send("bye");
    tapes.a.is_finished = true;
    tapes.b.send("unheard");
    tapes.wire->flush();
    tapes.run_for(100ms);
    CHECK(tapes.b.received_when_lost == "goodbye");
    CHECK(tapes.b.losses == 1);
    CHECK_FALSE(tapes.b.reason);
    CHECK(tapes.a.losses == 0);
    CHECK(tapes.a.received.empty());
    CHECK_FALSE(tapes.wire->broken());
  }
}

TEST_CASE("Wire: an owner that detaches its end during an event is not called again", "[sim]") {
  Dice dice{1};
  Scheduler scheduler;
  WireTape a, b;
  int events = 0;
  const auto wire =
      std::make_shared<Wire<WireTape, WireTape>>(scheduler, dice, distrib::sim::NetworkOptions{1ms, 4096});
  wire->attach(
      a, [] {}, b,
      [&] {
        ++events;
        wire->detach_b();
      });
  a.send("longer than is read at once");
  wire->flush();
  while (scheduler.step()) {
  }
  CHECK(events == 1);
  CHECK(b.received.size() == 8);
  CHECK(b.kept == 0);
  CHECK(b.losses == 0);
  CHECK(a.losses == 1);
  CHECK_FALSE(a.reason);
}

TEST_CASE("Wire: a latency and a size below 1 count as 1", "[sim]") {
  for (const std::chrono::microseconds latency : {0us, -1us}) {
    Tapes tapes{0, 1, latency};
    tapes.send_a("abc");
    tapes.run_for(100us);
    CHECK(tapes.b.received == "abc");
    CHECK(tapes.b.largest_read == 1);
  }
  for (std::uint64_t seed = 1; seed <= 20; ++seed) {  // nothing arrives at once
    Tapes tapes{4096, seed, 0us};
    tapes.send_a("a");
    while (tapes.b.received.empty()) REQUIRE(tapes.scheduler.step());
    CHECK(tapes.scheduler.now() - tapes.begun == 1us);
  }
}
