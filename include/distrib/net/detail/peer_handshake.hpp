// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/peer_stream.hpp>
#include <distrib/net/transport.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// What a server with a secure layer answers to a client that speaks without one.
struct PlainAnswer {
  std::string begins;  ///< How such a client begins: "DSTB", or "GET ".
  std::string answer;  ///< What it gets if it begins like this; other clients are disconnected.
};

/// The handshake of a secure layer, with a deadline. Its handlers keep it alive.
///
/// A peer that is refused must be able to read the reason. If the connection were closed with unread bytes, TCP would
/// reset it. So the handshake then reads until the peer ends too, for at most 1 s: it leaves.
///
/// Threads: only the executor's thread.
class PeerHandshake : public std::enable_shared_from_this<PeerHandshake> {
 public:
  /// The callback: with the stream, or with an error. With neither: the client has left, or has let the time pass,
  /// before it sent anything.
  using Done = std::function<void(const Error&, std::optional<PeerStream>)>;

  /// `peer`: a name of the peer, used as the place of errors.
  PeerHandshake(TcpSocket socket, std::string peer)
      : socket_{std::move(socket)}, peer_{std::move(peer)}, timer_{socket_.get_executor()} {}

  /// Starts the handshake of an accepted connection. Calls `done` once, never inside this function; not after `cancel`.
  /// No layer is made for a client that has sent nothing.
  ///
  /// Errors: `net_errc::timed_out` at the deadline, `no_tls` for a client that speaks without a secure layer, and those
  /// of the layer.
  DISTRIB_DECL void accept(std::shared_ptr<const Transport> transport, std::shared_ptr<const ClientRules> rules,
                           const PlainAnswer& plain, Instant deadline, Done done);

  /// Starts the handshake of a connection that this process has made, as `accept` does.
  DISTRIB_DECL void connect(const Transport& transport, const std::string& host, Instant deadline, Done done);

  /// Ends the handshake and closes the connection. `done` is not called any more.
  DISTRIB_DECL void cancel() noexcept;

  /// True after `done` was called, as long as the peer can read why it was refused.
  [[nodiscard]] auto leaves() const noexcept -> bool { return leaves_; }

  /// True if the peer has to send bytes, and none have arrived.
  [[nodiscard]] DISTRIB_DECL auto waits_for_peer() noexcept -> bool;

 private:
  using Clock = std::chrono::steady_clock;

  DISTRIB_DECL void begin(Instant deadline, Done done);
  DISTRIB_DECL void look_at_first_bytes(const std::shared_ptr<const Transport>& transport,
                                        std::shared_ptr<const ClientRules> rules, const PlainAnswer& plain);
  DISTRIB_DECL void go_on();
  template <class Next> void wait(TcpSocket::wait_type what, Next next);
  DISTRIB_DECL void end(const Error& error);
  DISTRIB_DECL void leave();
  DISTRIB_DECL void drop_bytes();

  TcpSocket socket_;
  std::unique_ptr<SecureLayer> layer_;
  std::string peer_;
  SteadyTimer timer_;
  Instant begun_ = Clock::now();
  bool waits_to_read_ = false;
  bool leaves_ = false;
  Done done_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/net/detail/impl/peer_handshake.ipp>
#endif
