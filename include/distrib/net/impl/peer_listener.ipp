// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/peer_listener.hpp>

#include <distrib/net/instant.hpp>

#include <algorithm>
#include <optional>
#include <system_error>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void PeerListener::close() noexcept {
  listener_.close();
  for (const Handshake& handshake : state_->pending) handshake->cancel();
  state_->pending.clear();
}

DISTRIB_DECL auto PeerListener::make_room(State& state) -> bool {
  if (state.pending.size() < state.options.max_handshakes) return true;
  const auto owing = std::ranges::find_if(state.pending, [](const Handshake& one) { return one->waits_for_peer(); });
  if (owing == state.pending.end()) return false;
  (*owing)->cancel();
  state.pending.erase(owing);
  return true;
}

DISTRIB_DECL void PeerListener::ended(State& state, std::list<Handshake>::iterator at) {
  if (!(*at)->leaves()) {
    state.pending.erase(at);
    return;
  }
  state.leaving.splice(state.leaving.end(), state.pending, at);
  std::erase_if(state.leaving, [](const Handshake& one) { return !one->leaves(); });
  if (state.leaving.size() <= state.options.max_handshakes) return;
  state.leaving.front()->cancel();
  state.leaving.pop_front();
}

DISTRIB_DECL void PeerListener::begin_handshake(const std::shared_ptr<State>& state, TcpSocket socket) {
  if (!make_room(*state)) return;  // the socket's destructor closes the connection
  const PeerListenerOptions& how = state->options;
  std::error_code ec;
  const auto peer = socket.remote_endpoint(ec);
  const auto handshake = std::make_shared<detail::PeerHandshake>(
      std::move(socket), Address{peer.address().to_string(), peer.port()}.to_string());
  const auto at = state->pending.insert(state->pending.end(), handshake);
  handshake->accept(how.transport, how.rules, how.plain,
                    instant_after(std::chrono::steady_clock::now(), how.handshake_within),
      // Not called after `cancel`, so `at` is valid.
                    [state, at](const Error& error, std::optional<PeerStream> stream) {
                      ended(*state, at);
                      if (stream) return state->accepted(*std::move(stream));
                      if (error && state->options.refused) state->options.refused(error);
                    });
}

}  // namespace v0
}  // namespace distrib
