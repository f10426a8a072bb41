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

/// How a client speaks TLS: `BasicRpcClientPool pool{executor, address, options, TlsConnect{context}};`
struct TlsConnect {
  TlsContext context;  ///< Of the client's side.

  using Connector = TlsConnector;
};

/// Connects to an address and speaks TLS: as a `Connector` does, and then the handshake, by the same deadline. The
/// handshake has at most `ConnectOptions::longest_try` of time, also without a deadline, and is not tried again when it
/// fails: certificates get no better by that.
///
/// Calls back once, on the executor: with a stream, or with the reason (a `Connector`'s, `net_errc::untrusted` or
/// `no_tls`) and the address as its place; `bad_tls_file` for a context whose files could not be read. The server's
/// certificate must be for the address's host. Calls nothing after `cancel()` or the destructor; both may be called from
/// callbacks.
///
/// Threads: one at a time, which is the executor's while that runs. It must not outlive the executor's context.
class TlsConnector {
 public:
  using Executor = asio::io_context::executor_type;
  using Socket = TlsStream;
  using Connected = std::function<void(const Error&, std::optional<TlsStream>)>;

  /// Begins. Throws as `Connector` does.
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
      } catch (const std::system_error& thrown) {  // nobody could catch it but who runs the executor
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

  /// Stops: nothing is called any more.
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
