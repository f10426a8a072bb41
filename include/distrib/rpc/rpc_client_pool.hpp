// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/rpc/backoff.hpp>
#include <distrib/rpc/call_observer.hpp>
#include <distrib/rpc/detail/call_attempts.hpp>
#include <distrib/rpc/detail/call_waiter.hpp>
#include <distrib/rpc/detail/kept_client.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/method.hpp>
#include <distrib/rpc/retry_options.hpp>
#include <distrib/rpc/retry_policy.hpp>
#include <distrib/rpc/rpc_client.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <exception>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

/// How a pool keeps its connections, and what it does for calls.
struct RpcClientPoolOptions {
  RpcClientOptions client;      ///< Of each connection.
  std::size_t connections = 1;  ///< To the one address; at least one.
  std::size_t max_waiting = 1024;  ///< Calls that wait for a connection; one more fails with `rpc_errc::exhausted`.
  /// How long a call without a deadline waits for a connection.
  std::chrono::milliseconds connect_within{10'000};
  /// Calls do not wait once a try to connect has failed, until there is a connection again.
  bool fail_fast = false;
  /// When a try is given up that has not brought a greeting.
  std::chrono::milliseconds longest_try{5'000};
  BackoffOptions backoff;
  RetryOptions retry;
  /// Of the pauses. Drawn from the clock unless told: clients of one server should have different ones.
  std::optional<std::uint64_t> seed = std::nullopt;
  /// Told of `Event::Kind::connected`, `lost` and `waiting` (a try failed, there will be another); `peer`: the address.
  Observer observer = {};
};

/// Calls the methods of a server that comes and goes: connects by itself, again and again, and makes calls wait
/// meanwhile. A call goes to the connection with the fewest calls in flight, and waits while none is there that has
/// answered the greeting and has room (`max_calls`).
///
/// Every call is completed exactly once, on the executor, never from inside of the call. What a call says:
/// - after its deadline, or without one after `connect_within`, a call that still waits fails with what the last try to
///   connect said (`net_errc::refused`...); if none has failed, with `rpc_errc::deadline_passed`, `net_errc::timed_out`
///   or, where all connections were full, `rpc_errc::exhausted`;
/// - a call that failed is made again, in its time, where `RetryPolicy` says that this is safe. It fails with the
///   `lost` or `silent` of the first attempt that may have been carried out, if those after it were not;
/// - what the request's codec throws comes out of the context's `run()`; the call fails with `rpc_errc::bad_message`;
/// - a pool that is destroyed completes its calls with `rpc_errc::closed`; those in flight with `lost` or `not_sent`.
///
/// Connections are TCP, or what another `ConnectorType` makes of it: `BasicRpcClientPool{executor, address, options,
/// TlsConnect{context}}` speaks TLS (`net/tls/tls_connect.hpp`), whose handshake is part of each try.
///
/// The name of the address is resolved anew at each try. A server that says goodbye is left when the calls in flight
/// there have ended, and is replaced at once. Memory: an allocation a call; the request is kept until the answer is
/// there, unless `most_attempts` are made.
///
/// Threads: one at a time, which is the executor's while that runs. It must not outlive the executor's context, and
/// counts as work of it until it is destroyed.
template <class ExecutorType, CallObserver Observes = const detail::NoCallObserver,
          class ConnectorType = BasicConnector<ExecutorType>>
class BasicRpcClientPool {
  static_assert(std::is_same_v<ExecutorType, typename ConnectorType::Executor>,
                "distrib: a pool and its connector need the same executor type; for TlsConnect it is an io_context's");

 public:
  using Executor = ExecutorType;

  /// Begins to connect. Throws `net_errc::bad_address` for port 0, to which nobody can connect. `observer` must outlive
  /// the pool; a call that is repeated is several to it.
  BasicRpcClientPool(const Executor& executor, const Address& address, RpcClientPoolOptions options = {},
                     Observes& observer = detail::no_call_observer)
      : state_{std::make_shared<State>(executor, address, std::move(options), observer)} {
    state_->begin();
  }
  /// The same. `how`: what another connector wants to know beside the address; kept for all that are made.
  template <class How>
    requires std::is_same_v<typename How::Connector, ConnectorType>
  BasicRpcClientPool(const Executor& executor, const Address& address, RpcClientPoolOptions options, How how,
                     Observes& observer = detail::no_call_observer)
      : state_{std::make_shared<State>(executor, address, std::move(options), observer, std::move(how))} {
    state_->begin();
  }
  BasicRpcClientPool(BasicRpcClientPool&&) noexcept = default;
  auto operator=(BasicRpcClientPool&&) -> BasicRpcClientPool& = delete;
  ~BasicRpcClientPool() {
    if (state_) state_->end();
  }

  [[nodiscard]] auto get_executor() const noexcept -> Executor { return state_->executor; }

  /// Connections that take calls.
  [[nodiscard]] auto connections() const noexcept -> std::size_t { return state_->connections(); }

  /// Calls that wait for one.
  [[nodiscard]] auto waiting() const noexcept -> std::size_t { return state_->waiting.size(); }

  /// Calls `M`; completes with `CallSignature<M>`. Its deadline counts from now, over all attempts.
  ///
  /// Cancellation of any type takes the call back, wherever it is: it completes with `rpc_errc::cancelled`.
  template <detail::UnaryMethod M, class Token>
  auto async_call(typename M::Request request, CallOptions options, Token&& token) {
    return asio::async_initiate<Token, CallSignature<M>>(
        [state = state_, request = std::move(request), options = std::move(options)](auto handler) mutable {
          using Made = CallOf<M, decltype(handler)>;
          const auto call = std::make_shared<Made>(state, std::move(request), std::move(options), std::move(handler));
          if (auto slot = asio::get_associated_cancellation_slot(call->handler); slot.is_connected())
            slot.assign([weak = std::weak_ptr<Call>{call}](asio::cancellation_type) {
              if (const auto self = weak.lock()) self->pool->cancel(self);
            });
          if (const auto failure = state->submit(call)) state->fail_soon(call, failure);
        },
        token);
  }

 private:
  using Clock = std::chrono::steady_clock;
  static constexpr Instant never = Instant::max();

  struct State;
  using Connected = typename ConnectorType::Connected;
  using Kept = detail::KeptClient<ConnectorType, State, Observes>;
  using Client = typename Kept::Client;

  /// What of a call does not depend on its method.
  struct Call {
    Call(std::shared_ptr<State> of, CallOptions how, bool repeatable)
        : pool{std::move(of)}, options{std::move(how)}, idempotent{repeatable} {
      if (options.within) deadline = instant_after(Clock::now(), *options.within);
    }
    virtual ~Call() = default;
    virtual void begin(Client& client) = 0;
    virtual void fail(const std::error_code& code) = 0;

    const std::shared_ptr<State> pool;
    CallOptions options;
    const bool idempotent;
    Instant deadline = never;
    Instant waits_until = never;
    detail::CallAttempts attempts;
    Client* client = nullptr;  // where it is in flight
    std::uint64_t id = 0;  // there
  };

  template <detail::RpcMethod M, class Handler> struct CallOf final : Call,
                                                                      std::enable_shared_from_this<CallOf<M, Handler>> {
    CallOf(std::shared_ptr<State> of, typename M::Request asked, CallOptions how, Handler completes)
        : Call{std::move(of), std::move(how), detail::is_idempotent<M>},
          request{std::move(asked)},
          handler{std::move(completes)} {}

    void begin(Client& on) override {
      this->id = on.state_->template begin<M>(request, this->options, Ending{this->shared_from_this()});
      this->client = &on;
      if (!this->pool->retry.may_repeat(this->attempts.begun())) request = {};
    }

    void fail(const std::error_code& code) override {
      if (this->options.error_text != nullptr && !this->pool->over)  // the text may be gone with the pool
        *this->options.error_text = this->pool->address.to_string();
      complete(this->attempts.given_up(code), typename M::Reply{});
    }
    void complete(const std::error_code& code, typename M::Reply reply) {
      detail::complete_call(std::move(handler), this->pool->executor, code, std::move(reply));
    }

    struct Ending {  // what a connection calls at the end of an attempt
      std::shared_ptr<CallOf> call;
      void operator()(const std::error_code& code, typename M::Reply reply) && {
        call->client = nullptr;
        const std::error_code end = call->attempts.ended(code);
        if (!call->pool->goes_on(call, code)) call->complete(end, std::move(reply));
      }
    };

    typename M::Request request;
    Handler handler;
  };

  /// Lives as long as a handler or a call does.
  struct State : std::enable_shared_from_this<State> {
    template <class... How>
    State(const Executor& given, const Address& to, RpcClientPoolOptions told, Observes& of_calls, How... how)
        : executor{given},
          address{to},
          options{std::move(told)},
          observer{of_calls},
          connector{[given, to, how...](ConnectOptions of_try, Connected connected) {
            return std::make_unique<ConnectorType>(given, to, std::move(of_try), std::move(connected), how...);
          }},
          retry{options.retry},
          timer{given} {
      const auto seed = options.seed.value_or(static_cast<std::uint64_t>(Clock::now().time_since_epoch().count()));
      for (std::size_t i = 0; i < std::max<std::size_t>(options.connections, 1); ++i)
        kept.emplace_back(*this, Backoff{options.backoff, seed, static_cast<std::uint32_t>(i)});
    }

    void begin() {
      for (Kept& one : kept) one.connect();
    }

    // The calls are completed later: the owner may be in the middle of his own destruction.
    void end() {
      over = true;
      timer.cancel();
      for (const auto& call : std::exchange(waiting, {})) fail_soon(call, rpc_errc::closed);
      for (Kept& one : kept) one.end();
    }

    // --- what the kept clients tell ---

    void came() {
      last_failure.clear();
      send_waiting();
      tell(Event::Kind::connected, {}, "connected");
    }

    void went(const std::error_code& code, const std::string& text) {
      arm();
      tell(Event::Kind::lost, code, text);
    }

    void missed(const Error& reason) {
      last_failure = reason.code;
      arm();
      if (fails_fast())
        for (const auto& call : std::exchange(waiting, {})) fail_soon(call, last_failure);
      tell(Event::Kind::waiting, reason.code, reason.where);
    }

    /// The connection with the fewest calls in flight, of those that take one more.
    auto freest() -> Client* {
      Client* best = nullptr;
      for (Kept& one : kept) {
        Client* const client = one.client();
        if (client == nullptr || !core(*client).has_room()) continue;
        if (best == nullptr || core(*client).calls() < core(*best).calls()) best = client;
      }
      return best;
    }
    static auto core(Client& client) -> ClientCore& { return client.state_->connection->core(); }

    [[nodiscard]] auto connections() const -> std::size_t {
      return static_cast<std::size_t>(std::ranges::count_if(kept, &Kept::is_up));
    }

    // --- calls ---

    /// Sends it, or makes it wait; or says why neither is possible.
    auto submit(const std::shared_ptr<Call>& call) -> std::error_code {
      if (over) return rpc_errc::closed;
      if (waiting.empty())
        if (Client* const client = freest()) return send(call, *client);
      if (fails_fast()) return last_failure;
      if (waiting.size() >= options.max_waiting) return rpc_errc::exhausted;
      call->waits_until = call->options.within ? call->deadline : instant_after(Clock::now(), options.connect_within);
      first_waits_until = std::min(first_waits_until, call->waits_until);
      waiting.push_back(call);
      arm();
      return {};
    }

    auto send(const std::shared_ptr<Call>& call, Client& client) -> std::error_code {
      if (call->deadline != never && (call->attempts.count() > 0 || call->waits_until != never)) {
        const auto left = std::chrono::ceil<std::chrono::milliseconds>(call->deadline - Clock::now());
        if (left <= left.zero()) return rpc_errc::deadline_passed;
        call->options.within = left;
      }
      try {
        call->begin(client);
      } catch (...) {  // its codec; who made room for it must not suffer
        asio::post(executor, [thrown = std::current_exception()] { std::rethrow_exception(thrown); });
        return rpc_errc::bad_message;
      }
      return {};
    }

    void send_waiting() {
      while (!waiting.empty()) {
        Client* const client = freest();
        if (client == nullptr) return;
        const auto call = std::move(waiting.front());
        waiting.pop_front();
        if (const auto failure = send(call, *client)) fail_soon(call, failure);
      }
    }

    /// An attempt has ended. Whether there is another.
    auto goes_on(const std::shared_ptr<Call>& call, const std::error_code& code) -> bool {
      if (over) return false;
      if (!code) retry.succeeded();
      const bool repeated = code && retry.again(code, call->idempotent, call->attempts.count()) && !submit(call);
      if (!waiting.empty()) send_waiting();
      return repeated;
    }

    void cancel(const std::shared_ptr<Call>& call) {
      if (call->client != nullptr) return over ? void() : call->client->state_->cancel(call->id);
      if (std::erase(waiting, call) != 0) fail_soon(call, rpc_errc::cancelled);
    }

    void fail_soon(const std::shared_ptr<Call>& call, const std::error_code& code) {
      asio::post(executor, [call, code] { call->fail(code); });
    }

    [[nodiscard]] auto fails_fast() const -> bool { return options.fail_fast && last_failure && connections() == 0; }

    // --- time ---

    void arm() {
      Instant at = first_waits_until;
      for (const Kept& one : kept) at = std::min(at, one.wake());
      if (over || at >= armed) return;
      armed = at;
      timer.expires_at(at);  // the wait for a later time ends with an error
      timer.async_wait([self = this->shared_from_this()](const std::error_code& ec) {
        if (!ec && !self->over) self->on_timer();
      });
    }

    void on_timer() {
      armed = never;
      const Instant now = Clock::now();
      first_waits_until = never;
      for (const auto& call : waiting)
        if (call->waits_until <= now) fail_soon(call, why_it_waited(*call));
        else first_waits_until = std::min(first_waits_until, call->waits_until);
      std::erase_if(waiting, [now](const auto& call) { return call->waits_until <= now; });
      for (Kept& one : kept)
        if (!over) one.woken(now);
      arm();
    }

    [[nodiscard]] auto why_it_waited(const Call& call) const -> std::error_code {
      if (last_failure) return last_failure;
      if (call.deadline != never) return rpc_errc::deadline_passed;
      if (connections() != 0) return rpc_errc::exhausted;
      return net_errc::timed_out;
    }

    /// The last thing in a function: who is told may destroy the pool.
    void tell(Event::Kind kind, const std::error_code& code, const std::string& text) {
      const auto self = this->shared_from_this();
      if (options.observer) options.observer({kind, {}, address.to_string(), code, text});
    }

    const Executor executor;
    const Address address;
    const RpcClientPoolOptions options;
    Observes& observer;
    const std::function<std::unique_ptr<ConnectorType>(ConnectOptions, Connected)> connector;
    RetryPolicy retry;
    std::deque<Kept> kept;  // they stay where they are
    std::deque<std::shared_ptr<Call>> waiting;
    std::error_code last_failure;  // of a try, since there was a connection
    bool over = false;
    detail::BasicSteadyTimer<Executor> timer;
    Instant first_waits_until = never;  // nobody waits for less
    Instant armed = never;
  };

  std::shared_ptr<State> state_;
};

template <class Executor>
BasicRpcClientPool(const Executor&, const Address&, RpcClientPoolOptions = {}) -> BasicRpcClientPool<Executor>;
template <class Executor, CallObserver Observes>
BasicRpcClientPool(const Executor&, const Address&, RpcClientPoolOptions, Observes&)
    -> BasicRpcClientPool<Executor, Observes>;
template <class Executor, class How>
BasicRpcClientPool(const Executor&, const Address&, RpcClientPoolOptions, How)
    -> BasicRpcClientPool<Executor, const detail::NoCallObserver, typename How::Connector>;
template <class Executor, class How, CallObserver Observes>
BasicRpcClientPool(const Executor&, const Address&, RpcClientPoolOptions, How, Observes&)
    -> BasicRpcClientPool<Executor, Observes, typename How::Connector>;

/// Over TCP, of an `io_context`.
using RpcClientPool = BasicRpcClientPool<asio::io_context::executor_type>;

}  // namespace v0
}  // namespace distrib
