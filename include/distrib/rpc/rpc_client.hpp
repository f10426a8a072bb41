// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connection.hpp>
#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/method.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <system_error>
#include <type_traits>
#include <utility>

namespace distrib::inline v0 {

/// How a call of method `M` is completed.
template <RpcMethod M>
using CallSignature = void(std::error_code, typename M::Reply);

/// Calls the methods of a server over one connection (made by a `Connector`).
///
/// Every call is completed exactly once, on the executor, never from inside of the call: with the answer, with the
/// server's error, or with an `rpc_errc`; also when the client is destroyed, which completes calls with
/// `rpc_errc::closed`. Once the connection is lost every further call fails; connect anew then.
///
/// Threads: one at a time, which is the executor's while that runs. It must not outlive the executor's context.
template <class Stream>
class BasicRpcClient {
 public:
  using Executor = typename Stream::executor_type;

  /// Speaks over `stream`, which must be connected. `closed` is called once when the connection ends by itself, after
  /// the calls were completed.
  explicit BasicRpcClient(Stream stream, const RpcClientOptions& options = {},
                          std::function<void(const Error&)> closed = {})
      : state_{std::make_shared<State>(stream.get_executor(), std::move(closed))} {
    state_->connection = std::make_shared<Connection<ClientCore, State, Stream>>(std::move(stream), *state_, options,
                                                                                 std::chrono::steady_clock::now());
    state_->connection->settle();
  }
  BasicRpcClient(BasicRpcClient&&) noexcept = default;
  auto operator=(BasicRpcClient&&) -> BasicRpcClient& = delete;
  ~BasicRpcClient() {
    if (state_) state_->end();
  }

  [[nodiscard]] auto get_executor() const noexcept -> Executor { return state_->executor; }

  /// Calls `M`; completes with `CallSignature<M>`. `within`: how long the answer may take; for ever unless told. The
  /// body of the request is shared until it is written.
  template <RpcMethod M, class Token>
    requires(!M::streaming)
  auto async_call(typename M::Request request, std::optional<std::chrono::milliseconds> within, Token&& token) {
    return asio::async_initiate<Token, CallSignature<M>>(
        [state = state_, request = std::move(request), within](auto handler) {
          state->template begin<M>(request, within, std::move(handler));
        },
        token);
  }

 private:
  /// What waits for the end of one call.
  struct Waiter {
    virtual ~Waiter() = default;
    virtual void complete(const ClientEvent& event) = 0;
  };

  template <RpcMethod M, class Handler>
  struct WaiterOf final : Waiter {
    WaiterOf(Handler given, const Executor& executor) : handler{std::move(given)}, fallback{executor} {}
    void complete(const ClientEvent& event) override {
      typename M::Reply reply{};
      std::error_code ec = event.error.code;
      if (!ec && !detail::decode_message(event.head, event.body, reply)) ec = rpc_errc::bad_message;
      const auto executor = asio::get_associated_executor(handler, fallback);
      asio::dispatch(executor, [handler = std::move(handler), ec, reply = std::move(reply)]() mutable {
        std::move(handler)(ec, std::move(reply));
      });
    }
    Handler handler;
    Executor fallback;
  };

  struct State : std::enable_shared_from_this<State> {
    State(const Executor& given, std::function<void(const Error&)> function)
        : executor{given}, closed{std::move(function)} {}

    template <RpcMethod M, class Handler>
    void begin(const typename M::Request& request, std::optional<std::chrono::milliseconds> within, Handler handler) {
      const Instant now = std::chrono::steady_clock::now();
      std::optional<Instant> deadline;
      if (within) deadline = now + *within;
      WireWriter head;
      request.encode(head);
      const std::uint64_t call = connection->core().call(M::id, head.view(), detail::body_of(request), deadline, now);
      waiters[call] = std::make_unique<WaiterOf<M, Handler>>(std::move(handler), executor);
      if (active) return;
      connection->settle();
      if (!connection->core().refused()) return;
      asio::post(executor, [self = this->shared_from_this()] { self->on_activity(std::chrono::steady_clock::now()); });
    }

    void on_activity(Instant now) {
      const auto self = this->shared_from_this();
      active = true;
      while (const ClientEvent* event = connection->core().next(now)) {
        if (event->kind == ClientEvent::Kind::greeted) continue;
        const auto waiter = waiters.extract(event->call);
        waiter.mapped()->complete(*event);
      }
      active = false;
      if (!connection->core().finished()) return connection->settle();
      connection->detach();
      if (const auto told = std::exchange(closed, {})) told(connection->core().reason());
    }

    // The calls are completed later: the owner may be in the middle of his own destruction.
    void end() {
      closed = {};
      connection->core().give_up({rpc_errc::closed, {}});
      connection->close();
      asio::post(executor, [self = this->shared_from_this()] { self->on_activity(std::chrono::steady_clock::now()); });
    }

    Executor executor;
    std::function<void(const Error&)> closed;
    std::shared_ptr<Connection<ClientCore, State, Stream>> connection;
    std::map<std::uint64_t, std::unique_ptr<Waiter>> waiters;
    bool active = false;
  };

  std::shared_ptr<State> state_;
};

/// Over TCP.
using RpcClient = BasicRpcClient<TcpSocket>;

}  // namespace distrib::inline v0
