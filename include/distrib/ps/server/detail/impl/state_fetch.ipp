// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/server/detail/state_fetch.hpp>

#include <distrib/core/error.hpp>
#include <distrib/net/peer_stream.hpp>
#include <distrib/ps/wire/messages.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL StateFetch::StateFetch(const Executor& executor, const Address& sibling, RpcClientOptions options,
                                    StateFetchCore core, Came came)
    : executor_{executor},
      sibling_{sibling},
      options_{std::move(options)},
      core_{std::move(core)},
      came_{std::move(came)},
      pause_{executor} {}

DISTRIB_DECL void StateFetch::operator()(ConnectToSibling action) {
  if (sibling_.port == 0)  // no connection is possible
    return asio::post(executor_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->core_.not_connected(*self);
    });
  ConnectOptions how;
  how.deadline = action.until;
  how.longest_pause = action.longest_pause;
  const auto connected = [this](const Error& error, std::optional<PeerStream> stream) {
    const auto self = shared_from_this();
    if (error) return core_.not_connected(*this);
    client_ = std::make_shared<RpcClient>(*std::move(stream), options_);
    core_.connected(*this);
  };
  connector_ =
      std::make_shared<PeerConnector>(executor_, sibling_, std::move(how), connected, PeerSecurity{options_.transport});
}

DISTRIB_DECL void StateFetch::operator()(AskSibling action) {
  client_->async_call<State>(action.request, action.within,
                             [weak = weak_from_this()](const std::error_code& ec, const StateReply& reply) {
                               const auto self = weak.lock();
                               if (self && ec) self->core_.failed(ec, Clock::now(), *self);
                               else if (self) self->core_.answered(reply, *self);
                             });
}

DISTRIB_DECL void StateFetch::operator()(AskSiblingLater action) {
  pause_.expires_at(action.at);
  pause_.async_wait([weak = weak_from_this()](const std::error_code& ec) {
    if (const auto self = weak.lock(); self && !ec) self->core_.woken(*self);
  });
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
