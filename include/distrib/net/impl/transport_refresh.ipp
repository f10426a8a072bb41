// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/transport_refresh.hpp>

#include <distrib/core/error.hpp>
#include <distrib/net/instant.hpp>

#include <chrono>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Lives until the last handler has run.
struct TransportRefresh::State : std::enable_shared_from_this<State> {
  State(const Executor& executor, std::shared_ptr<const Transport> files, OwnIdentity identity, Observer function)
      : timer{executor}, transport{std::move(files)}, own{std::move(identity)}, observer{std::move(function)} {}

  void look_for_exposed_key() {
    const std::string path = transport->exposed();
    if (!path.empty()) tell({{}, path}, path + " can be read by all users: run chmod 600");
  }

  void wait() {
    timer.expires_at(instant_after(std::chrono::steady_clock::now(), transport->refresh_every()));
    timer.async_wait([self = shared_from_this()](const std::error_code& ec) {
      if (ec || self->is_over) return;
      Error error;
      self->transport->refresh(self->own.host, self->own.rules.get(), error);
      if (error)
        self->tell(error, "the new certificate files are not used: " + error.where + ": " + error.code.message());
      if (!self->is_over) self->wait();
    });
  }

  void tell(const Error& why, const std::string& text) const {
    if (observer) observer({Event::Kind::tls_refused, {}, why.where, why.code, text});
  }

  detail::SteadyTimer timer;
  std::shared_ptr<const Transport> transport;
  OwnIdentity own;
  Observer observer;
  bool is_over = false;
};

DISTRIB_DECL TransportRefresh::TransportRefresh(const Executor& executor, std::shared_ptr<const Transport> transport,
                                                OwnIdentity own, Observer observer) {
  if (transport == nullptr) return;
  state_ = std::make_shared<State>(executor, std::move(transport), std::move(own), std::move(observer));
  asio::post(executor, [state = state_] {
    if (state->is_over) return;
    state->look_for_exposed_key();
    if (!state->is_over) state->wait();
  });
}

DISTRIB_DECL void TransportRefresh::stop() noexcept {
  if (state_ == nullptr) return;
  state_->is_over = true;
  state_->timer.cancel();
  state_.reset();
}

}  // namespace v0
}  // namespace distrib
