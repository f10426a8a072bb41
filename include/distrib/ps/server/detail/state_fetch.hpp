// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/ps/cut/state_fetch_core.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/rpc_client.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The shell of a `StateFetchCore`: a connection of its own to the other replica of a shard, and a timer.
///
/// Calls back once, on the executor, with what was fetched. Threads: one at a time, which is the executor's; a heap
/// object, and dropped it calls nothing.
class StateFetch : public std::enable_shared_from_this<StateFetch> {
 public:
  using Executor = asio::io_context::executor_type;
  using Came = std::function<void(std::optional<Cut>)>;

  template <class = void>
  StateFetch(const Executor& executor, const Address& sibling, RpcClientOptions options, StateFetchCore core, Came came)
      : executor_{executor},
        sibling_{sibling},
        options_{std::move(options)},
        core_{std::move(core)},
        came_{std::move(came)},
        pause_{executor} {}

  template <class = void> void start() { core_.start(Clock::now(), *this); }

  // --- what the core tells ---

  template <class = void> void operator()(ConnectToSibling action);
  template <class = void> void operator()(AskSibling action);
  template <class = void> void operator()(AskSiblingLater action);
  template <class = void> void operator()(StateFetched action);

 private:
  using Clock = std::chrono::steady_clock;

  Executor executor_;
  Address sibling_;
  RpcClientOptions options_;
  StateFetchCore core_;
  Came came_;
  SteadyTimer pause_;
  std::shared_ptr<Connector> connector_;  // shared only so that who drops this need not know how they end
  std::shared_ptr<RpcClient> client_;
};

template <class> void StateFetch::operator()(ConnectToSibling action) {
  if (sibling_.port == 0)  // nobody can connect to that
    return asio::post(executor_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->core_.not_connected(*self);
    });
  ConnectOptions how;
  how.deadline = action.until;
  how.longest_pause = action.longest_pause;
  connector_ = std::make_shared<Connector>(executor_, sibling_, std::move(how),
                                           [this](const Error& error, std::optional<TcpSocket> socket) {
                                             const auto self = shared_from_this();
                                             if (error) return core_.not_connected(*this);
                                             client_ = std::make_shared<RpcClient>(*std::move(socket), options_);
                                             core_.connected(*this);
                                           });
}

template <class> void StateFetch::operator()(AskSibling action) {
  client_->async_call<State>(action.request, action.within,
                             [weak = weak_from_this()](const std::error_code& ec, const StateReply& reply) {
                               const auto self = weak.lock();
                               if (self && ec) self->core_.failed(ec, Clock::now(), *self);
                               else if (self) self->core_.answered(reply, *self);
                             });
}

template <class> void StateFetch::operator()(AskSiblingLater action) {
  pause_.expires_at(action.at);
  pause_.async_wait([weak = weak_from_this()](const std::error_code& ec) {
    if (const auto self = weak.lock(); self && !ec) self->core_.woken(*self);
  });
}

template <class> void StateFetch::operator()(StateFetched action) {
  connector_.reset();
  client_.reset();
  std::exchange(came_, {})(std::move(action.cut));
}

#ifdef DISTRIB_SEPARATE_COMPILATION  // in cmake/separate/shard.cpp
extern template void StateFetch::operator()(ConnectToSibling);
extern template void StateFetch::operator()(AskSibling);
#endif

}  // namespace detail
}  // namespace v0
}  // namespace distrib
