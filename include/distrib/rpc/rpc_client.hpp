// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connection.hpp>
#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/detail/call_waiter.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/method.hpp>

#include <chrono>
#include <cstdint>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// What may be said of a call. A duration alone is a deadline.
struct CallOptions {
  /// How long the answer may take, from the begin of the handler that calls (the clock is not asked for each call); for
  /// ever unless told. It ends up to 4 ms late.
  std::optional<std::chrono::milliseconds> within = std::nullopt;
  /// What the server's handler is told beside the request: `Call::metadata`.
  std::string metadata = {};

  CallOptions() = default;
  CallOptions(std::nullopt_t) noexcept {}
  template <class Rep, class Period>
  CallOptions(std::chrono::duration<Rep, Period> time) noexcept
      : within{std::chrono::ceil<std::chrono::milliseconds>(time)} {}
  CallOptions(std::optional<std::chrono::milliseconds> time, std::string text)
      : within{time}, metadata{std::move(text)} {}
};

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

  /// Calls `M`; completes with `CallSignature<M>`. Bytes of the request that have an owner are shared until they are
  /// written. Calls of one handler leave together when it returns.
  ///
  /// Cancellation of any type takes the call back: it completes with `rpc_errc::cancelled`, the server is told.
  template <RpcMethod M, class Token>
    requires(!M::streaming)
  auto async_call(typename M::Request request, CallOptions options, Token&& token) {
    return asio::async_initiate<Token, CallSignature<M>>(
        [state = state_, request = std::move(request), options = std::move(options)](auto handler) {
          state->template begin<M>(request, options, std::move(handler));
        },
        token);
  }

 private:
  using Waiter = detail::CallWaiter<Executor>;
  static constexpr std::uint32_t waiters_together = 16;

  struct State : std::enable_shared_from_this<State> {
    State(const Executor& given, std::function<void(const Error&)> function)
        : executor{given}, closed{std::move(function)} {}

    template <RpcMethod M, class Handler>
    void begin(const typename M::Request& request, const CallOptions& options, Handler handler) {
      look_at_clock();
      std::optional<Instant> deadline;
      if (options.within) deadline = now + *options.within;
      head.clear();
      const MessageBody body = RpcCodec<typename M::Request>::encode(request, head);
      const std::uint64_t call = connection->core().call(M::id, head.view(), body.body, deadline, now,
                                                           as_bytes(options.metadata));
      const auto slot = static_cast<std::uint32_t>(call);
      if (auto cancellation = asio::get_associated_cancellation_slot(handler); cancellation.is_connected())
        cancellation.assign([weak = this->weak_from_this(), call](asio::cancellation_type) {
          if (const auto self = weak.lock()) self->cancel(call);
        });
      waiter(slot).template wait<M>(std::move(handler), executor);
      happen();
    }

    void cancel(std::uint64_t call) {
      connection->core().cancel(call);
      happen();
    }

    /// What the core was told is written, what it has to say is taken, when the present handler returns.
    void happen() {
      if (active) return;
      if (!connection->core().finished()) return connection->settle_soon();
      if (std::exchange(soon, true)) return;
      asio::post(executor, [self = this->shared_from_this()] {
        self->soon = false;
        self->on_activity(self->now);
      });
    }

    /// Once for all calls that leave together.
    void look_at_clock() {
      if (!active && !soon && !connection->settles_soon()) now = std::chrono::steady_clock::now();
    }

    void on_activity(Instant at) {
      const auto self = this->shared_from_this();
      now = at;
      take_events();
      if (!connection->core().finished()) return;
      connection->detach();
      if (const auto told = std::exchange(closed, {})) told(connection->core().reason());
    }

    void take_events() {
      const detail::FlagWhile within{active};
      ClientEvent event;
      while (connection->core().next(now, event)) {
        using Kind = ClientEvent::Kind;
        if (event.kind == Kind::item || event.kind == Kind::ended) {  // calls here have one answer
          event.error = {rpc_errc::protocol, "a stream in place of an answer"};
          connection->core().give_up(event.error);  // ends the call of an item too
        }
        if (event.kind != Kind::greeted && event.kind != Kind::item)
          waiter(static_cast<std::uint32_t>(event.call)).complete(event);
      }
    }

    // The calls are completed later: the owner may be in the middle of his own destruction.
    void end() {
      closed = {};
      connection->core().give_up({rpc_errc::closed, {}});
      connection->close();
      asio::post(executor, [self = this->shared_from_this()] { self->on_activity(std::chrono::steady_clock::now()); });
    }

    auto waiter(std::uint32_t slot) -> Waiter& {
      while (waiters.size() <= slot / waiters_together)
        waiters.push_back(std::make_unique<Waiter[]>(waiters_together));
      return waiters[slot / waiters_together][slot % waiters_together];
    }

    Executor executor;
    std::function<void(const Error&)> closed;
    std::shared_ptr<Connection<ClientCore, State, Stream>> connection;
    std::vector<std::unique_ptr<Waiter[]>> waiters;  // by slot, each where it is for good
    WireWriter head;
    Instant now{};        // when the handler that calls began
    bool active = false;  // it is called from `on_activity`
    bool soon = false;    // `on_activity` will come, although the connection has ended
  };

  std::shared_ptr<State> state_;
};

/// Over TCP.
using RpcClient = BasicRpcClient<TcpSocket>;

}  // namespace distrib::inline v0
