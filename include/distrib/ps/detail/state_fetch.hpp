// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/ps/cut_pieces.hpp>
#include <distrib/ps/error.hpp>
#include <distrib/ps/methods.hpp>
#include <distrib/ps/shard_action.hpp>
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

/// Fetches a newer cut from the other replica of a shard, over a connection of its own.
///
/// Calls back once, on the executor: with the cut, or without one, when there is none that is newer, the other replica
/// cannot be reached, does not know the job, or is lost midway. Threads: one at a time, which is the executor's; a heap
/// object, and dropped it calls nothing.
class StateFetch : public std::enable_shared_from_this<StateFetch> {
 public:
  using Executor = asio::io_context::executor_type;
  using Came = std::function<void(std::optional<Cut>)>;

  /// `answer_within`: the sibling may have to make and write the cut first.
  template <class = void>
  StateFetch(const Executor& executor, RpcClientOptions options, StateRequest request, CutAssembly assembly,
             std::chrono::milliseconds answer_within, Came came)
      : executor_{executor},
        options_{std::move(options)},
        request_{std::move(request)},
        assembly_{std::move(assembly)},
        answer_within_{answer_within},
        came_{std::move(came)},
        pause_{executor} {}

  /// With port 0 it cannot be reached.
  template <class = void> void start(const Address& sibling);

 private:
  using Clock = std::chrono::steady_clock;

  template <class = void> void ask() {
    client_->async_call<State>(request_, answer_within_,
                               [weak = weak_from_this()](const std::error_code& ec, const StateReply& reply) {
                                 if (const auto self = weak.lock()) self->answered(ec, reply);
                               });
  }

  template <class = void> void answered(const std::error_code& ec, const StateReply& reply) {
    if (ec == ps_errc::not_joined && Clock::now() < found_until_) return ask_later();  // no worker has come to it yet
    if (ec || reply.step == 0 || !assembly_.take(reply)) return end(std::nullopt);
    if (assembly_.whole()) return end(std::move(assembly_).finish());
    request_.at = assembly_.bytes();
    ask();
  }

  template <class = void> void ask_later() {
    pause_.expires_after(pause);
    pause_.async_wait([weak = weak_from_this()](const std::error_code& ec) {
      if (const auto self = weak.lock(); self && !ec) self->ask();
    });
  }

  template <class = void> void end(std::optional<Cut> cut) {
    connector_.reset();
    client_.reset();
    std::exchange(came_, {})(std::move(cut));
  }

  static constexpr std::chrono::milliseconds pause{50};

  Executor executor_;
  RpcClientOptions options_;
  StateRequest request_;
  CutAssembly assembly_;
  std::chrono::milliseconds answer_within_;
  Came came_;
  Instant found_until_ = Clock::now() + std::chrono::seconds{2};  // tasks of a job start together
  SteadyTimer pause_;
  std::shared_ptr<Connector> connector_;  // shared only so that who drops this need not know how they end
  std::shared_ptr<RpcClient> client_;
};

template <class> void StateFetch::start(const Address& sibling) {
  if (sibling.port == 0)
    return asio::post(executor_, [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->end(std::nullopt);
    });
  ConnectOptions how;
  how.deadline = found_until_;
  how.longest_pause = pause;
  connector_ = std::make_shared<Connector>(executor_, sibling, std::move(how),
                                           [this](const Error& error, std::optional<TcpSocket> socket) {
                                             const auto self = shared_from_this();
                                             if (error) return end(std::nullopt);
                                             client_ = std::make_shared<RpcClient>(*std::move(socket), options_);
                                             ask();
                                           });
}

#ifdef DISTRIB_SEPARATE_COMPILATION  // in cmake/separate/shard.cpp
extern template void StateFetch::start(const Address&);
#endif

}  // namespace detail
}  // namespace v0
}  // namespace distrib
