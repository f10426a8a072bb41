// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/server_core.hpp>

#include "rpc/stream.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

/// A client core and a server core; the test carries their bytes.
namespace pair {

/// Returns a nonce; different arguments give different nonces.
inline auto nonce(std::uint8_t of) -> distrib::Nonce {
  distrib::Nonce nonce;
  nonce.fill(static_cast<std::byte>(of));
  return nonce;
}

using namespace std::chrono_literals;

/// A recorded event.
struct Seen {
  int kind;
  std::uint64_t call;
  std::uint32_t method;
  std::string head;
  std::size_t body_bytes;
  std::error_code code;
  std::string where;
};

struct Pair {
  distrib::Instant now{1'000h};
  distrib::ServerCore server;
  distrib::ClientCore client;
  std::vector<Seen> at_server;
  std::vector<Seen> at_client;

  explicit Pair(const distrib::RpcServerOptions& server_options = {}, const distrib::RpcClientOptions& options = {})
      : server{server_options, now, nonce('s')}, client{options, now, nonce('c')} {}
  explicit Pair(std::shared_ptr<distrib::ServerBudget> budget, const distrib::RpcClientOptions& options = {})
      : server{std::move(budget), now, nonce('s')}, client{options, now, nonce('c')} {}

  auto call(std::string_view method, std::string_view head = {}, distrib::SharedBuffer body = nullptr,
            std::chrono::milliseconds within = 0ms) -> std::uint64_t {
    std::optional<distrib::Instant> deadline;
    if (within != 0ms) deadline = now + within;
    return client.call(distrib::method_id(method), distrib::as_bytes(head), std::move(body), deadline, now);
  }

  void take_events() {
    for (distrib::ServerEvent event; server.next(now, event);)
      at_server.push_back({static_cast<int>(event.kind),
                           event.call,
                           event.kind == distrib::ServerEvent::Kind::greeted ? event.service : event.method,
                           std::string{distrib::as_text(event.head)},
                           event.body.bytes().size(),
                           {},
                           {}});
    for (distrib::ClientEvent event; client.next(now, event);)
      at_client.push_back({static_cast<int>(event.kind), event.call, 0, std::string{distrib::as_text(event.head)},
                           event.body.bytes().size(), event.error.code, event.error.where});
  }

  template <class From, class To>
  auto carry_one(From& from, To& to, std::size_t piece) -> bool {
    const stream::Bytes bytes = stream::take_output(from, now);
    for (std::size_t at = 0; at < bytes.size();) {
      if (!to.reads()) break;  // the rest is lost, as after a close
      at += stream::give(to, distrib::ByteView{bytes}.subspan(at), piece, now);
      take_events();
      to.keep();
    }
    return !bytes.empty();
  }

  /// Carries bytes in both directions until neither end has output. `piece`: most bytes at once.
  void carry(std::size_t piece = 1 << 20) {
    take_events();
    while (carry_one(client, server, piece) || carry_one(server, client, piece)) take_events();
  }

  /// Lets time pass, and wakes the cores that are due.
  void pass(std::chrono::milliseconds time) {
    now += time;
    if (client.wake() && *client.wake() <= now) client.woken(now);
    if (server.wake() && *server.wake() <= now) server.woken(now);
    take_events();
  }
};

}  // namespace pair
