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

/// How a server speaks TLS: `RpcServer server{executor, address, router, options, TlsAccept{context}};`
struct TlsAccept {
  TlsContext context;                                  ///< Of the server's side.
  std::chrono::milliseconds handshake_within{5'000};   ///< Who is not done by then is closed.
  std::size_t max_handshakes = 1024;  ///< While so many are under way, further connections are closed.
  std::function<void(const Error&)> refused = {};  ///< Told who did not get in, and why.

  using Listener = TlsListener;
};

/// A `Listener` that calls back with streams whose handshake is done. One that fails, or hangs, is the matter of nobody
/// else; the peer is told by a TLS alert where there is one. While the files of the context could not be read yet, all
/// are refused (`net_errc::bad_tls_file`).
///
/// Threads: one at a time, which is the executor's while that runs. It must not outlive the executor's context, and
/// counts as work of it until it is closed.
class TlsListener {
 public:
  using Executor = asio::io_context::executor_type;
  using Socket = TlsStream;
  using Accepted = std::function<void(TlsStream)>;

  /// See `Listener`, whose errors it throws.
  TlsListener(const Executor& executor, const Address& address, Accepted accepted, TlsAccept how)
      : state_{std::make_shared<State>(std::move(accepted), std::move(how))},
        listener_{executor, address, [state = state_](TcpSocket socket) { begin(state, std::move(socket)); }} {}
  TlsListener(const TlsListener&) = delete;
  auto operator=(const TlsListener&) -> TlsListener& = delete;
  ~TlsListener() { close(); }

  [[nodiscard]] auto is_open() const noexcept -> bool { return listener_.is_open(); }

  /// The port that it listens on; 0 when it is not open.
  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return listener_.port(); }

  /// Handshakes that are under way.
  [[nodiscard]] auto handshakes() const noexcept -> std::size_t { return state_->pending.size(); }

  /// Stops listening; connections not yet handed over are closed.
  void close() noexcept {
    listener_.close();
    for (const auto& handshake : state_->pending) handshake->cancel();
    state_->pending.clear();
  }

 private:
  using Handshake = std::shared_ptr<detail::TlsHandshake>;

  /// Lives as long as a handler does.
  struct State {
    State(Accepted function, TlsAccept options) : accepted{std::move(function)}, how{std::move(options)} {}

    Accepted accepted;
    TlsAccept how;
    std::set<Handshake> pending;
  };

  static void begin(const std::shared_ptr<State>& state, TcpSocket socket) {
    if (state->pending.size() >= state->how.max_handshakes) return;  // closes it
    std::error_code ec;
    const auto peer = socket.remote_endpoint(ec);
    const std::string name = Address{peer.address().to_string(), peer.port()}.to_string();
    std::shared_ptr<detail::TlsHandshake> handshake;
    try {
      handshake = std::make_shared<detail::TlsHandshake>(state->how.context.stream(std::move(socket)), name);
    } catch (const std::system_error& thrown) {  // nobody could catch it but who runs the executor
      if (state->how.refused) state->how.refused({thrown.code(), name + " (" + error_of(thrown).where + ")"});
      return;
    }
    state->pending.insert(handshake);
    const std::weak_ptr<detail::TlsHandshake> weak = handshake;  // it holds what it calls
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
