// SPDX-License-Identifier: Apache-2.0
// An optional component: not in any facade; link distrib::tls.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/listener.hpp>
#include <distrib/net/tls/detail/tls_handshake.hpp>
#include <distrib/net/tls/tls.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <set>
#include <string>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

class TlsListener;

/// Makes a server use TLS: `RpcServer server{executor, address, router, options, TlsAccept{context}};`
struct TlsAccept {
  TlsContext context;  ///< A context of `TlsSide::server`.
  std::chrono::milliseconds handshake_within{5'000};  ///< Longest time for a handshake; then the connection is closed.
  std::size_t max_handshakes = 1024;  ///< Most handshakes at once; further connections are closed.
  /// Called for each handshake that failed, with the error; its place is the client's address and the reason. Not
  /// called for a connection beyond `max_handshakes`. Empty: not called.
  std::function<void(const Error&)> refused = {};

  using Listener = TlsListener;
};

/// A `Listener` that passes streams to the callback after their TLS handshake. A handshake that fails or hangs does not
/// affect other connections. The client gets a TLS alert if there is one for the error.
///
/// Errors: a failed handshake is reported to `TlsAccept::refused` only. Until the certificate files of
/// `TlsAccept::context` have been read successfully (see `TlsContext::reload`), all connections are refused with
/// `net_errc::bad_tls_file`.
///
/// Threads: one at a time; while the executor runs, only its thread. Must be destroyed before the executor's context,
/// and keeps that context's `run()` busy until it is closed.
class TlsListener {
 public:
  using Executor = asio::io_context::executor_type;
  using Socket = TlsStream;
  using Accepted = std::function<void(TlsStream)>;

  /// Starts to listen on `address`, as `Listener` does. Calls `accepted` on the executor with the stream of each
  /// connection whose handshake has succeeded.
  ///
  /// Errors: throws `net_errc::address_in_use`, `not_local`, `unresolved`, or the system's error, each with the
  /// address. Does not throw if the files of `how.context` could not be read: see the class.
  TlsListener(const Executor& executor, const Address& address, Accepted accepted, TlsAccept how)
      : state_{std::make_shared<State>(std::move(accepted), std::move(how))},
        listener_{executor, address, [state = state_](TcpSocket socket) { begin(state, std::move(socket)); }} {}
  TlsListener(const TlsListener&) = delete;
  auto operator=(const TlsListener&) -> TlsListener& = delete;
  ~TlsListener() { close(); }

  /// True while it listens.
  [[nodiscard]] auto is_open() const noexcept -> bool { return listener_.is_open(); }

  /// Returns the port on which it listens; 0 if it is not open.
  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return listener_.port(); }

  /// Returns the number of handshakes that are under way.
  [[nodiscard]] auto handshakes() const noexcept -> std::size_t { return state_->pending.size(); }

  /// Stops listening. Connections that were not passed to the callback yet are closed.
  void close() noexcept {
    listener_.close();
    for (const auto& handshake : state_->pending) handshake->cancel();
    state_->pending.clear();
  }

 private:
  using Handshake = std::shared_ptr<detail::TlsHandshake>;

  /// Lives until the last handler has run.
  struct State {
    State(Accepted function, TlsAccept options) : accepted{std::move(function)}, how{std::move(options)} {}

    Accepted accepted;
    TlsAccept how;
    std::set<Handshake> pending;
  };

  static void begin(const std::shared_ptr<State>& state, TcpSocket socket) {
    if (state->pending.size() >= state->how.max_handshakes) return;  // the socket's destructor closes the connection
    std::error_code ec;
    const auto peer = socket.remote_endpoint(ec);
    const std::string name = Address{peer.address().to_string(), peer.port()}.to_string();
    std::shared_ptr<detail::TlsHandshake> handshake;
    try {
      handshake = std::make_shared<detail::TlsHandshake>(state->how.context.stream(std::move(socket)), name);
    } catch (const std::system_error& thrown) {  // otherwise it would leave the context's `run()`
      if (state->how.refused) state->how.refused({thrown.code(), name + " (" + error_of(thrown).where + ")"});
      return;
    }
    state->pending.insert(handshake);
    const std::weak_ptr<detail::TlsHandshake> weak = handshake;  // weak, because the handshake owns the function below
    handshake->start(TlsSide::server, instant_after(std::chrono::steady_clock::now(), state->how.handshake_within),
                     [state, weak](const Error& error, std::optional<TlsStream> stream) {
                       state->pending.erase(weak.lock());
                       if (!error) return state->accepted(*std::move(stream));
                       if (state->how.refused) state->how.refused(error);
                     });
  }

  std::shared_ptr<State> state_;
  Listener listener_;
};

}  // namespace v0
}  // namespace distrib
