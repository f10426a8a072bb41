// SPDX-License-Identifier: Apache-2.0
#include <distrib/sim/wire.hpp>

#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/server_core.hpp>

#include "rpc/stream.hpp"
#include "support/catch.hpp"

#include <chrono>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>

using distrib::ClientCore;
using distrib::ClientEvent;
using distrib::ServerCore;
using distrib::ServerEvent;
using distrib::sim::Dice;
using distrib::sim::Scheduler;
using distrib::sim::Wire;
using namespace std::chrono_literals;

namespace {

/// A client that makes calls at random times over one connection to a server that answers some of them late, some with
/// an error and some never; the connection may break, stall or be half open, an end may die or leave.
class Run {
 public:
  explicit Run(std::uint64_t seed) : dice_{seed}, byte_by_byte_{dice_.percent(30)} {
    const distrib::sim::NetworkOptions options{1ms, byte_by_byte_ ? std::size_t{1} : std::size_t{5000}};
    wire_ = std::make_shared<Wire<ClientCore, ServerCore>>(scheduler_, dice_, options);
    wire_->attach(client_, [this] { take_client(); }, server_, [this] { take_server(); });
  }

  /// Empty: every call ended once, answered ones with their own answer. Else what was wrong.
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
    scheduler_.after(0us, [this] {  // as a shell does: never from inside of `call`
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
      if (chance == 0) continue;  // never
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

TEST_CASE("Wire: over 1000 seeds every call of a client ends once, with its own answer", "[sim]") {
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

/// A client and a server that answers at once with what it was asked, and when the client heard what.
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

TEST_CASE("Wire: a stalled one carries what it was given afterwards, in order", "[sim]") {
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

TEST_CASE("Wire: that one is half open is found out by who is told, or else by its own deadlines", "[sim]") {
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
