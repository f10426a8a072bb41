// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/peer_stream.hpp>
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
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// How a pool keeps its connections and treats its calls.
struct RpcClientPoolOptions {
  RpcClientOptions client;      ///< Options of each connection.
  std::size_t connections = 1;  ///< Number of connections to keep open to the address. 0 counts as 1.
  /// Most calls that wait for a connection at once; a further one fails with `rpc_errc::exhausted`.
  std::size_t max_waiting = 1024;
  /// How long a call without a deadline may wait for a connection. A call with a deadline waits until the deadline.
  std::chrono::milliseconds connect_within{10'000};
  /// True: while no connection is up and the last attempt to connect has failed, calls fail at once with the error of
  /// that attempt. Calls that wait when an attempt fails do so too.
  bool fail_fast = false;
  /// Time for one attempt to connect, from resolving the name to the server's greeting.
  std::chrono::milliseconds longest_try{5'000};
  BackoffOptions backoff;  ///< Pauses between attempts.
  RetryOptions retry;  ///< How often failed calls are repeated.
  /// Seed of the random part of the pauses; empty: the clock. Clients of one server need different seeds.
  std::optional<std::uint64_t> seed = std::nullopt;
  /// Receives `Event::Kind::connected`, `lost`, and `waiting` (an attempt failed, another follows), with the address in
  /// `Event::peer`. Runs on the executor. May destroy the pool.
  Observer observer = {};
};

/// Calls the methods of one server that may start late, end, and start again. The pool opens its connections itself and
/// opens them again whenever they end; calls wait meanwhile.
///
/// A call is sent on the connection with the fewest calls in flight. It waits, in order of arrival, while no connection
/// has both the server's greeting and room for another call (`max_calls` of client and server).
///
/// Every call completes exactly once, on the executor, never inside `async_call`:
/// - with the server's answer or error;
/// - after waiting too long, with the error of the last failed attempt to connect (`net_errc::refused`, ...). If no
///   attempt has failed since the last connection: with `rpc_errc::deadline_passed` if it has a deadline, otherwise
///   with `rpc_errc::exhausted` if all connections were full, or `net_errc::timed_out`;
/// - with `rpc_errc::bad_message` if the codec of its request throws; the exception leaves the context's `run()`;
/// - when the pool is destroyed: with `rpc_errc::closed` if it waits, with `lost` or `not_sent` if it is in flight.
///
/// A failed call is repeated within its deadline as `RpcClientPoolOptions::retry` allows: after `not_sent` and `closed`
/// always, after `lost` and `silent` only if the method is idempotent, and otherwise never. An attempt that ended with
/// `lost` or `silent` may have been carried out. If a later attempt was not, the call fails with the code of the
/// earlier one: so `not_sent` and `closed` mean that the call was not carried out at all.
///
/// Connections are plain, or secure by `RpcClientOptions::transport`; the handshake is part of each attempt. The host
/// name is resolved again for each attempt. When the server sends a goodbye, a new connection is opened, and the
/// old one is closed when its calls in flight have ended.
///
/// Memory: one allocation per call. The request is kept until the answer arrives or the last allowed attempt is sent.
///
/// Threads: one at a time; while the executor runs, only its thread. Must be destroyed before the executor's context,
/// and keeps that context's `run()` busy until then.
template <CallObserver Observes = const detail::NoCallObserver> class BasicRpcClientPool {
 public:
  using Executor = PeerStream::executor_type;

  /// Starts to connect. Throws `net_errc::bad_address` for port 0. `observer` must outlive the pool; it sees each
  /// attempt of a repeated call as a call.
  BasicRpcClientPool(const Executor& executor, const Address& address, RpcClientPoolOptions options = {},
                     Observes& observer = detail::no_call_observer)
      : state_{std::make_shared<State>(executor, address, std::move(options), observer)} {
    state_->begin();
  }
  BasicRpcClientPool(BasicRpcClientPool&&) noexcept = default;
  auto operator=(BasicRpcClientPool&&) -> BasicRpcClientPool& = delete;
  ~BasicRpcClientPool() {
    if (state_) state_->end();
  }

  /// Returns the executor of the pool, on which its connections run.
  [[nodiscard]] auto get_executor() const noexcept -> Executor { return state_->executor; }

  /// Returns the number of connections that accept calls now.
  [[nodiscard]] auto connections() const noexcept -> std::size_t { return state_->connections(); }

  /// Returns the number of calls that wait for a connection.
  [[nodiscard]] auto waiting() const noexcept -> std::size_t { return state_->waiting.size(); }

  /// Calls `M`; completes with `CallSignature<M>`. The deadline in `options` starts now and covers all attempts. A call
  /// that must wait when `max_waiting` calls wait already fails with `rpc_errc::exhausted`.
  ///
  /// Cancellation: of any type; it cancels the call, whether it waits or is in flight, and the call completes with
  /// `rpc_errc::cancelled`. The server may have carried it out.
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
  using Kept = detail::KeptClient<State, Observes>;
  using Client = typename Kept::Client;

  /// The part of a call that does not depend on its method.
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
    Client* client = nullptr;  // the client on which it is in flight; null: it waits, or is over
    std::uint64_t id = 0;  // its id on that client
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
      if (this->options.error_text != nullptr && !this->pool->over)  // with the pool, its text may be destroyed
        *this->options.error_text = this->pool->address.to_string();
      complete(this->attempts.given_up(code), typename M::Reply{});
    }
    void complete(const std::error_code& code, typename M::Reply reply) {
      detail::complete_call(std::move(handler), this->pool->executor, code, std::move(reply));
    }

    struct Ending {  // the completion handler of one attempt
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

  /// Lives until the pool is destroyed and the last of its handlers and calls has ended.
  struct State : std::enable_shared_from_this<State> {
    State(const Executor& given, const Address& to, RpcClientPoolOptions told, Observes& of_calls)
        : executor{given},
          address{to},
          options{std::move(told)},
          observer{of_calls},
          retry{options.retry},
          timer{given} {
      const auto seed = options.seed.value_or(static_cast<std::uint64_t>(Clock::now().time_since_epoch().count()));
      for (std::size_t i = 0; i < std::max<std::size_t>(options.connections, 1); ++i)
        kept.emplace_back(*this, Backoff{options.backoff, seed, static_cast<std::uint32_t>(i)});
    }

    void begin() {
      for (Kept& one : kept) one.connect();
    }

    // Completes the calls in posted handlers: the pool's owner may be inside its destructor now.
    void end() {
      over = true;
      timer.cancel();
      for (const auto& call : std::exchange(waiting, {})) fail_soon(call, rpc_errc::closed);
      for (Kept& one : kept) one.end();
    }

    // --- called by the kept clients ---

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

    /// Returns the connection with the fewest calls in flight that accepts one more; null if there is none.
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

    /// Sends a call or lets it wait. Returns an error if neither is possible.
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
      } catch (...) {  // from its codec; the caller of this may be another call, which must not fail
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

    /// Called when an attempt at a call has ended. Returns true if another attempt follows.
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

    /// Calls the observer. Must be the last statement of a function: the observer may destroy the pool.
    void tell(Event::Kind kind, const std::error_code& code, const std::string& text) {
      const auto self = this->shared_from_this();
      if (options.observer) options.observer({kind, {}, address.to_string(), code, text});
    }

    const Executor executor;
    const Address address;
    const RpcClientPoolOptions options;
    Observes& observer;
    RetryPolicy retry;
    std::deque<Kept> kept;  // a deque, because the elements must not move
    std::deque<std::shared_ptr<Call>> waiting;
    std::error_code last_failure;  // of the last attempt to connect; empty if a connection was made since
    bool over = false;  // the pool was destroyed
    detail::SteadyTimer timer;
    Instant first_waits_until = never;  // no waiting call ends earlier
    Instant armed = never;  // the time for which `timer` is set
  };

  std::shared_ptr<State> state_;
};

/// A pool without an observer of calls.
using RpcClientPool = BasicRpcClientPool<>;

}  // namespace v0
}  // namespace distrib
