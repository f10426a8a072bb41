// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/net/peer_stream.hpp>
#include <distrib/net/transport.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <string>

namespace distrib {
inline namespace v0 {

/// How a connection to a server is secured.
struct PeerSecurity {
  std::shared_ptr<const Transport> transport = {};  ///< Null: the connection is plain.
  /// The host for which the server's certificate must be valid; empty: the host of the address.
  std::string host = {};
};

/// Connects to an address as a `Connector` does, and then does the handshake of the transport, within the same
/// deadline. One handshake may take at most `ConnectOptions::longest_try`. If the peer ends the connection in the
/// handshake, or is silent, that is a failed attempt, and another follows after `longest_pause` if the options allow
/// one. A peer that refuses, or is refused, is not tried again: a repeat would not change the certificates.
///
/// Calls `connected` once, on the executor, with a stream or with an error. Calls nothing after `cancel()` or the
/// destructor; both may be called inside the callbacks.
///
/// Errors: as a `Connector`; for the handshake `net_errc::untrusted`, `no_tls`, `broken_handshake` or `timed_out`, with
/// the address and the reason as its place; what `Transport::connect_layer` throws.
///
/// Threads: one at a time; while the executor runs, only its thread. Must be destroyed before the executor's context.
class PeerConnector {
 public:
  using Executor = asio::io_context::executor_type;
  using Socket = PeerStream;
  using Connected = std::function<void(const Error&, std::optional<PeerStream>)>;

  /// Starts to connect. Throws the errors of `Connector`.
  DISTRIB_DECL PeerConnector(const Executor& executor, const Address& address, ConnectOptions options,
                             Connected connected, PeerSecurity security = {});
  PeerConnector(const PeerConnector&) = delete;
  auto operator=(const PeerConnector&) -> PeerConnector& = delete;
  ~PeerConnector() { cancel(); }

  /// Stops. No callback is called any more.
  DISTRIB_DECL void cancel() noexcept;

 private:
  struct State;

  std::shared_ptr<State> state_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/net/impl/peer_connector.ipp>
#endif
