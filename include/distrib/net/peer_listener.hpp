// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/detail/peer_handshake.hpp>
#include <distrib/net/listener.hpp>
#include <distrib/net/peer_stream.hpp>
#include <distrib/net/transport.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <list>
#include <memory>
#include <utility>

namespace distrib {
inline namespace v0 {

/// How a `PeerListener` accepts connections. Without a transport only that matters: all connections are plain.
struct PeerListenerOptions {
  std::shared_ptr<const Transport> transport = {};  ///< Makes the connections secure; null: they are plain.
  std::shared_ptr<const ClientRules> rules = {};  ///< Which clients are accepted. Null: as a default `ClientRules`.
  std::chrono::milliseconds handshake_within{5'000};  ///< Longest time for a handshake; then the connection is closed.
  std::size_t max_handshakes = 512;  ///< Most handshakes at once.
  detail::PlainAnswer plain = {};  ///< What a client gets that speaks without a secure layer.
  /// Called for each client that was refused, with the error; its place is the client's address and the reason. Not
  /// called for a client that has sent nothing. Empty: not called.
  std::function<void(const Error&)> refused = {};
};

/// A `Listener` that passes on streams. If it has a transport, it does so after their handshake: a handshake that fails
/// or hangs does not affect other connections, and a client that speaks without a secure layer is refused.
///
/// At most `max_handshakes` are under way. When one more connection comes, the oldest one whose client owes bytes is
/// closed; one whose bytes have arrived is not. So clients that do not finish their handshakes cannot keep others out.
/// At most as many clients that were refused may still read the reason, for 1 s; then the oldest one is closed.
///
/// Errors: as `Listener`. Failed handshakes are reported to `PeerListenerOptions::refused` only.
///
/// Threads: one at a time; while the executor runs, only its thread. Must be destroyed before the executor's context,
/// and keeps that context's `run()` busy until it is closed.
class PeerListener {
 public:
  using Executor = asio::io_context::executor_type;
  using Accepted = std::function<void(PeerStream)>;

  /// Starts to listen on `address`, as `Listener` does. Calls `accepted` on the executor with each stream.
  PeerListener(const Executor& executor, const Address& address, Accepted accepted, PeerListenerOptions options = {})
      : state_{std::make_shared<State>(std::move(accepted), std::move(options))},
        listener_{executor, address, [state = state_](TcpSocket socket) { begin(state, std::move(socket)); }} {}
  PeerListener(const PeerListener&) = delete;
  auto operator=(const PeerListener&) -> PeerListener& = delete;
  ~PeerListener() { close(); }

  /// True while it listens.
  [[nodiscard]] auto is_open() const noexcept -> bool { return listener_.is_open(); }

  /// Returns the port on which it listens; 0 if it is not open.
  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return listener_.port(); }

  /// Returns the number of handshakes that are under way.
  [[nodiscard]] auto handshakes() const noexcept -> std::size_t { return state_->pending.size(); }

  /// Stops listening. Connections that were not passed to the callback yet are closed.
  DISTRIB_DECL void close() noexcept;

 private:
  using Handshake = std::shared_ptr<detail::PeerHandshake>;

  /// Lives until the last handler has run.
  struct State {
    State(Accepted function, PeerListenerOptions how) : accepted{std::move(function)}, options{std::move(how)} {
      if (options.rules == nullptr) options.rules = std::make_shared<const ClientRules>();
    }

    Accepted accepted;
    PeerListenerOptions options;
    std::list<Handshake> pending;  // the oldest first
    std::list<Handshake> leaving;  // refused clients, the oldest first
  };

  static void begin(const std::shared_ptr<State>& state, TcpSocket socket) {
    if (state->options.transport == nullptr) return state->accepted(std::move(socket));
    begin_handshake(state, std::move(socket));
  }
  DISTRIB_DECL static void begin_handshake(const std::shared_ptr<State>& state, TcpSocket socket);

  /// Returns false if there is no room for one more handshake.
  DISTRIB_DECL static auto make_room(State& state) -> bool;

  /// The handshake at `at` is over.
  DISTRIB_DECL static void ended(State& state, std::list<Handshake>::iterator at);

  std::shared_ptr<State> state_;
  Listener listener_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/net/impl/peer_listener.ipp>
#endif
