// SPDX-License-Identifier: Apache-2.0
#include "expect.hpp"
#include "made_frames.hpp"
#include "targets.hpp"
#include "watched_ends.hpp"

#include <distrib/rpc/greeting.hpp>

#include <chrono>

namespace fuzz {

namespace {

using distrib::rpc_errc;

void decode(ByteView head) {
  distrib::Greeting greeting;
  if (!greeting.decode(head)) return;
  expect(greeting.oldest >= 1 && greeting.version >= greeting.oldest, "the versions are possible");
  distrib::Greeting again;
  expect(again.decode(greeting.encode()) && again.version == greeting.version && again.oldest == greeting.oldest &&
             again.limits.head_bytes == greeting.limits.head_bytes &&
             again.limits.body_bytes == greeting.limits.body_bytes && again.max_calls == greeting.max_calls &&
             again.service == greeting.service,
         "what was decoded is encoded in the same way");
}

void greet_server(const stream::Bytes& bytes, std::size_t piece) {
  distrib::RpcServerOptions options;
  options.services = 3;
  options.limits = {4096, 4096};
  WatchedServer server{options, began};
  server.give(bytes, piece);
  server.pump();
  if (server.greeted) {
    expect(server.written.frames.at(0).kind == distrib::FrameKind::greeting, "a greeting is answered by a greeting");
  } else {
    expect(server.requests == 0, "no request is accepted before the greeting");
    expect(server.written.frames.size() <= 1, "at most one frame is sent before the greeting");
    const std::error_code reason = server.core.reason();
    if (reason == rpc_errc::not_ours || reason == rpc_errc::corrupt || reason == rpc_errc::too_large)
      expect(server.written.frames.empty(), "nothing is sent to a peer that does not speak this protocol");
  }
  server.now += options.silent_after;
  server.core.woken(server.now);
  server.take();
  expect(server.core.finished(), "a silent peer is disconnected");
}

void greet_client(const stream::Bytes& bytes, std::size_t piece) {
  distrib::RpcClientOptions options;
  options.limits = {4096, 4096};
  WatchedClient client{options, began};
  client.call({}, nullptr, {});
  client.call({}, nullptr, began + std::chrono::seconds{1});
  client.pump();
  client.give(bytes, piece);
  client.pump();
  client.lose();
}

}  // namespace

void rpc_greeting(ByteView input) {
  decode(input);
  Script script{input};
  const std::size_t piece = 1 + script.number(1);
  const auto bytes = made_stream(script);
  greet_server(bytes, piece);
  greet_client(bytes, piece);
}

}  // namespace fuzz
