// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/detail/listener_options.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/net/error.hpp>
#include <distrib/rpc/frame.hpp>
#include <distrib/rpc/frame_body.hpp>
#include <distrib/rpc/frame_queue.hpp>
#include <distrib/rpc/remote_error.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto listener_options(const RpcServerOptions& options) -> PeerListenerOptions {
  PeerListenerOptions made;
  made.transport = options.transport;
  made.rules = options.clients;
  made.handshake_within = options.greeting_within;
  made.max_handshakes = options.max_handshakes;
  made.refused = options.refused;
  if (options.transport == nullptr) return made;
  WireWriter head;
  encode_error(head, net_errc::no_tls, "this server speaks TLS only, and the client speaks no TLS");
  FrameQueue queue;
  queue.add({FrameKind::error}, {{}, {}, head.view()});
  for (const FrameBody& piece : queue.output()) made.plain.answer += as_text(piece.bytes());
  made.plain.begins = made.plain.answer.substr(0, 4);  // the magic number of each frame
  return made;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
