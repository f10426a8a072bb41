// SPDX-License-Identifier: Apache-2.0
// An optional component: not in any facade; link distrib::tls.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/tls/detail/tls_handshake.hpp>
#include <distrib/net/tls/tls.hpp>

#include <algorithm>
#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

class TlsConnector;

/// Makes a client use TLS: `BasicRpcClientPool pool{executor, address, options, TlsConnect{context}};`
struct TlsConnect {
  TlsContext context;  ///< A context of `TlsSide::client`.

  using Connector = TlsConnector;
};

/// Connects to an address as a `Connector` does, and then makes a TLS handshake, within the same deadline. The
/// handshake may take at most `ConnectOptions::longest_try`, also without a deadline. A failed handshake is not
/// repeated: a repeat would not change the certificates.
///
/// Calls `connected` once, on the executor, with a stream or with an error. Calls nothing after `cancel()` or the
/// destructor; both may be called inside the callbacks. The server's certificate must be valid for the host of the
/// address.
///
/// Errors: as a `Connector`; `net_errc::untrusted`, `no_tls` or `timed_out` for the handshake, with the address and the
/// reason as its place; `bad_tls_file` for a context whose files could not be read, and `bad_address` for a host for
/// which a certificate cannot be verified. Place of these two: a text about the context, and the host.
///
/// Threads: one at a time; while the executor runs, only its thread. Must be destroyed before the executor's context.
class TlsConnector {
 public:
  using Executor = asio::io_context::executor_type;
  using Socket = TlsStream;
  using Connected = std::function<void(const Error&, std::optional<TlsStream>)>;

  /// Starts to connect. Throws the errors of `Connector`.
  TlsConnector(const Executor& executor, const Address& address, ConnectOptions options, Connected connected,
               TlsConnect how)
      : state_{std::make_shared<State>(std::move(connected))} {
    const Instant deadline = options.deadline;
    const auto longest = options.longest_try;
    const auto speak = [=, state = std::weak_ptr{state_}](const Error& error, std::optional<TcpSocket> socket) {
      const auto self = state.lock();
      if (self == nullptr) return;
      if (error) return self->end(error, std::nullopt);
      try {
        self->handshake = std::make_shared<detail::TlsHandshake>(how.context.stream(*std::move(socket), address.host),
                                                                 address.to_string());
      } catch (const std::system_error& thrown) {  // otherwise it would leave the context's `run()`
        return self->end(error_of(thrown), std::nullopt);
      }
      const Instant by = std::min(deadline, instant_after(std::chrono::steady_clock::now(), longest));
      self->handshake->start(TlsSide::client, by, [state](const Error& failure, std::optional<TlsStream> stream) {
        if (const auto still = state.lock()) still->end(failure, std::move(stream));
      });
    };
    state_->connector.emplace(executor, address, std::move(options), speak);
  }
  TlsConnector(const TlsConnector&) = delete;
  auto operator=(const TlsConnector&) -> TlsConnector& = delete;
  ~TlsConnector() { cancel(); }

  /// Stops. No callback is called any more.
  void cancel() noexcept {
    state_->connected = nullptr;
    if (state_->connector) state_->connector->cancel();
    if (state_->handshake) state_->handshake->cancel();
  }

 private:
  struct State {
    explicit State(Connected function) : connected{std::move(function)} {}

    void end(const Error& error, std::optional<TlsStream> stream) {
      if (const auto function = std::exchange(connected, nullptr)) function(error, std::move(stream));
    }

    Connected connected;
    std::optional<Connector> connector;
    std::shared_ptr<detail::TlsHandshake> handshake;
  };

  std::shared_ptr<State> state_;
};

}  // namespace v0
}  // namespace distrib
