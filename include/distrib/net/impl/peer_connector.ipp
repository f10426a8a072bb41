// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/peer_connector.hpp>

#include <distrib/net/detail/peer_handshake.hpp>
#include <distrib/net/instant.hpp>

#include <algorithm>
#include <chrono>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Lives until the last handler has run.
struct PeerConnector::State : std::enable_shared_from_this<State> {
  State(const Executor& executor, const Address& to, ConnectOptions how, Connected function, PeerSecurity secured)
      : address{to},
        options{std::move(how)},
        connected{std::move(function)},
        security{std::move(secured)},
        pause{executor} {
    if (security.host.empty()) security.host = address.host;
  }

  void begin() {
    // Weak, because this object owns the connector and the handshake.
    connector.emplace(pause.get_executor(), address, options,
                      [weak = weak_from_this()](const Error& error, std::optional<TcpSocket> socket) {
                        const auto self = weak.lock();
                        if (self == nullptr) return;
                        if (error) return self->end(error, std::nullopt);
                        if (self->security.transport) return self->secure(*std::move(socket));
                        self->end({}, PeerStream{*std::move(socket)});
                      });
  }

  void secure(TcpSocket socket) {
    handshake = std::make_shared<detail::PeerHandshake>(std::move(socket), address.to_string());
    const Instant by = std::min(options.deadline, instant_after(Clock::now(), options.longest_try));
    handshake->connect(*security.transport, security.host, by,
                       [weak = weak_from_this()](const Error& error, std::optional<PeerStream> stream) {
                         const auto self = weak.lock();
                         if (self && error) self->failed(error);
                         else if (self) self->end({}, std::move(stream));
                       });
  }

  void failed(const Error& error) {
    const bool is_final = error.code != failure::unavailable && error.code != failure::timeout;
    const bool was_last = options.most_tries != 0 && --options.most_tries == 0;
    if (is_final || was_last || Clock::now() >= options.deadline) return end(error, std::nullopt);
    pause.expires_at(std::min(options.deadline, instant_after(Clock::now(), options.longest_pause)));
    pause.async_wait([self = shared_from_this()](const std::error_code& ec) {
      if (!ec && self->connected) self->begin();
    });
    if (options.waiting)
      options.waiting(error, std::chrono::duration_cast<std::chrono::milliseconds>(Clock::now() - since));
  }

  void end(const Error& error, std::optional<PeerStream> stream) {
    if (const auto function = std::exchange(connected, nullptr)) function(error, std::move(stream));
  }

  void cancel() noexcept {
    connected = nullptr;
    pause.cancel();
    if (connector) connector->cancel();
    if (handshake && !handshake->leaves()) handshake->cancel();  // else the peer may still read why it was refused
  }

  using Clock = std::chrono::steady_clock;

  const Address address;
  ConnectOptions options;
  Connected connected;
  PeerSecurity security;
  const Instant since = Clock::now();
  detail::SteadyTimer pause;
  std::optional<Connector> connector;
  std::shared_ptr<detail::PeerHandshake> handshake;
};

DISTRIB_DECL PeerConnector::PeerConnector(const Executor& executor, const Address& address, ConnectOptions options,
                                          Connected connected, PeerSecurity security)
    : state_{
          std::make_shared<State>(executor, address, std::move(options), std::move(connected), std::move(security))} {
  state_->begin();
}

DISTRIB_DECL void PeerConnector::cancel() noexcept { state_->cancel(); }

}  // namespace v0
}  // namespace distrib
