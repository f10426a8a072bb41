// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/rpc/frame_limits.hpp>
#include <distrib/rpc/shared_secret.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>

namespace distrib {
inline namespace v0 {

/// How a server behaves.
///
/// Over a limit of calls, further requests fail at once with `rpc_errc::exhausted`. Over a limit of bytes, no further
/// frame is taken until the bytes are no longer above the limit: the connection fills up, and its client has to wait.
/// The check is made before each frame, so the last frame may exceed a limit of bytes by its whole size.
///
/// A client that exceeds one of the times is disconnected. Time in which the server does not read from it because of
/// `held_bytes` or `server_bytes` does not count.
struct RpcServerOptions {
  FrameLimits limits;  ///< The largest frame that is accepted from a client.
  std::uint32_t services = 1;  ///< Clients may ask for services 0 .. services - 1.
  /// `RpcPoolServer` only: how many threads of the pool to use, from the first thread on. 0: all threads.
  std::uint32_t threads = 0;
  std::uint32_t max_calls = 1024;  ///< Most calls in flight on one connection.
  std::uint32_t server_calls = 1U << 16;  ///< Most calls in flight on all connections of one thread.
  std::size_t owed_bytes = std::size_t{64} << 20;  ///< Most bytes of answers that wait to be written on one connection.
  /// Most bytes of unanswered requests, and of items that have not been used, on one connection. A body that is handled
  /// in chunks does not count. If handlers wait for further requests before they answer, this must be larger than all
  /// the requests that they wait for: a request over the limit is not read.
  std::size_t held_bytes = std::size_t{1} << 30;
  /// Most bytes of unwritten answers, unanswered requests and unused items together, on all connections of one thread.
  std::size_t server_bytes = std::size_t{4} << 30;
  /// Longest time until the handshake of the transport, the client's greeting, and its proof of the secret if there is
  /// one, are over, from the moment that the connection is accepted.
  std::chrono::milliseconds greeting_within{5'000};
  /// Longest time in which no bytes arrive from the client and no batch of output to it is completely written.
  std::chrono::milliseconds silent_after{60'000};
  /// Longest time without progress in a frame that the client has begun: counted from its first byte, and again from
  /// each further 64 KiB.
  std::chrono::milliseconds frame_within{30'000};
  /// If set, each client must prove that it has the same secret; the server proves it to the client too.
  SharedSecret secret;
  /// Makes the connections secure: `Tls::from_files` of `net/tls/tls.hpp`. Null: they are plain. A client that speaks
  /// otherwise is told so, and disconnected.
  std::shared_ptr<const Transport> transport = {};
  std::shared_ptr<const ClientRules> clients = {};  ///< With a transport: which clients are accepted.
  std::size_t max_handshakes = 512;  ///< With a transport: most handshakes at once, see `PeerListener`.
  /// Called on the executor for each client that was refused because of its certificate, or because one end uses a
  /// transport and the other does not. The place is the client's address and the reason. Empty: not called.
  std::function<void(const Error&)> refused = {};
};

}  // namespace v0
}  // namespace distrib
