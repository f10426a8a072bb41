// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/server_core.hpp>
#include <distrib/sim/dice.hpp>
#include <distrib/sim/scheduler.hpp>
#include <distrib/sim/wire.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <string_view>
#include <utility>

namespace simulation {

using distrib::ClientEvent;
using distrib::Instant;
using distrib::rpc_errc;
using distrib::ServerEvent;

/// How a call ended, and when.
struct CallEnd {
  int times = 0;
  ClientEvent::Kind kind{};
  std::error_code code;
  std::string head;
  Instant at{};
};

/// A client and a server core over a simulated connection. The test decides what happens to a request; everything else
/// is recorded.
class RpcLine {
 public:
  explicit RpcLine(std::uint64_t seed, const distrib::RpcServerOptions& server_options = {},
                   const distrib::RpcClientOptions& options = {}, const distrib::sim::NetworkOptions& network = {})
      : dice{seed},
        server{server_options, scheduler.now()},
        client{options, scheduler.now()},
        wire{std::make_shared<distrib::sim::Wire<distrib::ClientCore, distrib::ServerCore>>(scheduler, dice, network)} {
    wire->attach(client, [this] { take_client(); }, server, [this] { take_server(); });
  }
  ~RpcLine() {
    wire->detach_a();
    wire->detach_b();
  }
  RpcLine(const RpcLine&) = delete;

  auto now() const -> Instant { return scheduler.now(); }

  /// Makes a call with `text`. Its events arrive later, as with a shell.
  auto call(std::string_view text, std::optional<std::chrono::microseconds> within = std::nullopt) -> std::uint64_t {
    std::optional<Instant> deadline;
    if (within) deadline = now() + *within;
    const std::uint64_t id = client.call(1, distrib::as_bytes(text), nullptr, deadline, now());
    ends[id];
    soon();
    return id;
  }

  void reply(std::uint64_t call, std::string_view text) {
    server.reply(call, distrib::as_bytes(text));
    soon();
  }

  /// Soon passes the bytes of both cores on, and takes their events.
  void soon() {
    scheduler.after(std::chrono::microseconds{0}, [this] {
      take_client();
      take_server();
      wire->flush();
    });
  }

  void run_for(std::chrono::microseconds time) {
    bool over = false;
    scheduler.after(time, [&over] { over = true; });
    while (!over && scheduler.step()) {
    }
  }

  distrib::sim::Scheduler scheduler;
  distrib::sim::Dice dice;
  distrib::ServerCore server;
  distrib::ClientCore client;
  std::shared_ptr<distrib::sim::Wire<distrib::ClientCore, distrib::ServerCore>> wire;

  /// Called for each request at the server. By default it answers with the text of the request.
  std::function<void(std::uint64_t call, const std::string& text)> on_request =
      [this](std::uint64_t call, const std::string& text) { reply(call, text); };

  std::map<std::uint64_t, CallEnd> ends;  // of every call
  std::map<std::uint64_t, Instant> seen;  // when each request arrived at the server
  std::size_t cancelled = 0;  // how many requests were cancelled

 private:
  void take_client() {
    for (ClientEvent event; client.next(now(), event);) {
      if (event.kind == ClientEvent::Kind::greeted) continue;
      CallEnd& end = ends[event.call];
      ++end.times;
      end.kind = event.kind;
      end.code = event.error.code;
      end.head = distrib::as_text(event.head);
      end.at = now();
    }
  }

  void take_server() {
    for (ServerEvent event; server.next(now(), event);) {
      if (event.kind == ServerEvent::Kind::cancelled) ++cancelled;
      if (event.kind != ServerEvent::Kind::request) continue;
      seen[event.call] = now();
      const std::string text{distrib::as_text(event.head)};
      on_request(event.call, text);
    }
  }
};

}  // namespace simulation
