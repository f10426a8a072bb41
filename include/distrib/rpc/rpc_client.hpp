// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connection.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/flag_while.hpp>
#include <distrib/net/peer_stream.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/rpc/call_observer.hpp>
#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/client_stream.hpp>
#include <distrib/rpc/detail/call_waiter.hpp>
#include <distrib/rpc/detail/chunked_reply.hpp>
#include <distrib/rpc/detail/client_call_sink.hpp>
#include <distrib/rpc/detail/observed_calls.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/method.hpp>
#include <distrib/rpc/nonce.hpp>

#include <chrono>
#include <concepts>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <type_traits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Options of one call. A duration converts to options with this deadline.
struct CallOptions {
  /// How long the answer may take; empty: no deadline. 0 or less: the call fails with `rpc_errc::deadline_passed`. The
  /// clock is not read for each call: for a call made in a completion of the same client the time counts from the
  /// beginning of the event that caused the completion; for any other call, from the first of the calls that are sent
  /// together with it. The call ends up to 4 ms late.
  std::optional<std::chrono::milliseconds> within = std::nullopt;
  /// Bytes that the server's handler gets beside the request, as `Call::metadata`.
  std::string metadata = {};
  /// If not null: where to write a text beside the code if the call fails, for example the text of the server's
  /// handler, or the address that could not be reached. Written before the call completes; emptied when the call
  /// begins. It must live until the call completes or the client is destroyed.
  std::string* error_text = nullptr;

  /// Sets no member.
  CallOptions() = default;
  /// Sets no deadline.
  CallOptions(std::nullopt_t) noexcept {}
  /// Sets the deadline, rounded up to milliseconds. More than a century counts as a century.
  template <class Rep, class Period>
  CallOptions(std::chrono::duration<Rep, Period> time) noexcept : within{detail::bounded_time(time)} {}
  /// Sets all members, in their order.
  CallOptions(std::optional<std::chrono::milliseconds> time, std::string text, std::string* say = nullptr)
      : within{time}, metadata{std::move(text)}, error_text{say} {}
};

/// Calls the methods of a server over one connection, which `async_connect`, a `Connector` or a `PeerConnector` has
/// made.
///
/// Every call completes exactly once, on the executor, never inside `async_call`: with the answer, the server's error,
/// or an `rpc_errc`. If the client is destroyed, its calls complete with `rpc_errc::lost` or `not_sent`. After the
/// connection has ended every further call fails with `rpc_errc::closed`; make a new connection then.
///
/// Threads: one at a time; while the executor runs, only its thread. Must be destroyed before the executor's context.
/// Trap: a coroutine that owns the client and waits for one of its calls is kept alive by that call; let it end before
/// the context is destroyed.
template <CallObserver Observes = const detail::NoCallObserver> class BasicRpcClient {
 public:
  using Executor = PeerStream::executor_type;

  /// Makes a client of a connected stream, and sends the greeting.
  ///
  /// `closed(error)` is called once when the connection has ended, after its calls were completed; not when the client
  /// is destroyed. The error is empty if the connection ended as planned, after `drain`. `available(true)` is called
  /// when the server has answered the greeting, `available(false)` when no more calls are accepted: the server has sent
  /// a goodbye, or `drain` was called. Both may destroy the client. `observer` must outlive the client.
  ///
  /// Throws `net_errc::no_tls` if the options have a transport and the stream is plain.
  explicit BasicRpcClient(PeerStream stream, const RpcClientOptions& options = {},
                          std::function<void(const Error&)> closed = {}, std::function<void(bool)> available = {},
                          Observes& observer = detail::no_call_observer)
      : state_{std::make_shared<State>(stream, std::move(closed), std::move(available), observer)} {
    if (options.transport && !stream.is_secure())
      throw_error(net_errc::no_tls, "a client with a transport got a plain stream");
    const ChannelBinding binding = stream.binding();
    state_->connection = std::make_shared<Connection<ClientCore, State>>(
        std::move(stream), *state_, options, std::chrono::steady_clock::now(), draw_nonce(), binding);
    state_->connection->settle();
  }
  BasicRpcClient(BasicRpcClient&&) noexcept = default;
  auto operator=(BasicRpcClient&&) -> BasicRpcClient& = delete;
  ~BasicRpcClient() {
    if (state_) state_->end();
  }

  /// Returns the executor of the connection. Only its thread may use the client.
  [[nodiscard]] auto get_executor() const noexcept -> Executor { return state_->executor; }

  /// Accepts no more calls. The connection ends when the calls in flight have ended; then `closed` is called.
  void drain() {
    state_->connection->core().close();
    state_->happen();
  }

  /// Calls `M`; completes with `CallSignature<M>`. A body of the request that has an owner may be shared until it is
  /// written. All calls that one handler makes are sent together when it returns. If the codec of the request throws,
  /// no call is made, and the exception leaves the function that starts it.
  ///
  /// Cancellation: of any type; it cancels the call, which completes with `rpc_errc::cancelled`, and tells the server.
  /// The server may have carried out the call.
  template <detail::UnaryMethod M, class Token>
  auto async_call(typename M::Request request, CallOptions options, Token&& token) {
    return asio::async_initiate<Token, CallSignature<M>>(
        [state = state_, request = std::move(request), options = std::move(options)](auto handler) {
          state->template begin<M>(request, options, std::move(handler));
        },
        token);
  }

  /// Calls `M` as `async_call` does, but passes a large body of the reply on in parts, so that the whole body is never
  /// in memory. Each part goes to `sink(ByteView)`, in order, on the executor, and is valid until the sink returns; its
  /// size is a multiple of 64 bytes, except for the last part. The reply is decoded from the head alone.
  ///
  /// Trap: only a completion without an error says that all bytes have arrived and are correct.
  ///
  /// Errors: an exception of the sink leaves the context's `run()`; the sink is not called again, and the call
  /// completes with `rpc_errc::cancelled`.
  template <detail::UnaryMethod M, std::invocable<ByteView> Sink, class Token>
  auto async_call_in_chunks(typename M::Request request, CallOptions options, Sink sink, Token&& token) {
    return asio::async_initiate<Token, CallSignature<M>>(
        [state = state_, request = std::move(request), options = std::move(options),
         sink = std::move(sink)](auto handler) mutable {
          state->template begin_in_chunks<M>(request, options, std::move(sink), std::move(handler));
        },
        token);
  }

  /// Starts a streaming call of `M` and returns the `ClientStream` that sends and reads its items. Never fails
  /// directly: a failure of the call is reported by the stream's `async_read` or `async_finish`.
  template <detail::StreamMethod M>
    requires(!M::streams_requests)
  [[nodiscard]] auto open(const typename M::Request& request, const CallOptions& options = {}) {
    state_->head.clear();
    const MessageBody body = RpcCodec<typename M::Request>::encode(request, state_->head);
    return ClientStream<M, State>{state_, state_->begin(M::id, body.body, options)};
  }
  /// Starts a streaming call of a method whose client streams: all items of the client follow through the stream that
  /// it returns.
  template <detail::StreamMethod M>
    requires M::streams_requests
  [[nodiscard]] auto open(const CallOptions& options = {}) {
    state_->head.clear();
    return ClientStream<M, State>{state_, state_->begin(M::id, {}, options)};
  }

 private:
  template <CallObserver> friend class BasicRpcClientPool;

  using Waiter = detail::CallWaiter<Executor>;
  static constexpr std::uint32_t waiters_together = 16;

  struct State : std::enable_shared_from_this<State> {
    State(PeerStream& stream, std::function<void(const Error&)> at_end, std::function<void(bool)> at_change,
          Observes& observer)
        : executor{stream.get_executor()},
          closed{std::move(at_end)},
          available{std::move(at_change)},
          observed{observer, stream} {}

    template <detail::RpcMethod M, class Handler>
    auto begin(const typename M::Request& request, const CallOptions& options, Handler handler) -> std::uint64_t {
      head.clear();
      const MessageBody body = RpcCodec<typename M::Request>::encode(request, head);
      const std::uint64_t call = begin(M::id, body.body, options);
      let_cancel(handler, call);
      waiter(static_cast<std::uint32_t>(call)).template wait<M>(std::move(handler), executor);
      return call;
    }

    template <detail::UnaryMethod M, class Sink, class Handler>
    void begin_in_chunks(const typename M::Request& request, const CallOptions& options, Sink sink, Handler handler) {
      head.clear();
      const MessageBody body = RpcCodec<typename M::Request>::encode(request, head);
      const std::uint64_t call = begin(M::id, body.body, options);
      connection->core().take_in_chunks(call);
      let_cancel(handler, call);
      using Reply = detail::ChunkedReply<M, Sink, Handler, State>;
      attach(call, std::make_shared<Reply>(*this, std::move(sink), std::move(handler)));
    }

    template <class Handler> void let_cancel(const Handler& handler, std::uint64_t call) {
      if (auto cancellation = asio::get_associated_cancellation_slot(handler); cancellation.is_connected())
        cancellation.assign([weak = this->weak_from_this(), call](asio::cancellation_type) {
          if (const auto self = weak.lock()) self->cancel(call);
        });
    }

    /// Starts a call whose head was written to `head`.
    auto begin(std::uint32_t method, const FrameBody& body, const CallOptions& options) -> std::uint64_t {
      look_at_clock();
      std::optional<Instant> deadline;
      if (options.within) deadline = instant_after(now, *options.within);
      if (deadline == Instant::max()) deadline.reset();
      const std::uint64_t call =
          connection->core().call(method, head.view(), body, deadline, now, as_bytes(options.metadata));
      observed.started(call, method, head.view().size() + body.bytes().size(), now);
      if (options.error_text != nullptr) {
        options.error_text->clear();
        error_texts[call] = options.error_text;
      }
      happen();
      return call;
    }

    // --- for streams ---

    [[nodiscard]] auto get_executor() const noexcept -> const Executor& { return executor; }
    [[nodiscard]] auto writer() noexcept -> WireWriter& {
      head.clear();
      return head;
    }
    void attach(std::uint64_t call, std::shared_ptr<detail::ClientCallSink> sink) {
      const auto slot = static_cast<std::uint32_t>(call);
      if (sinks.size() <= slot) sinks.resize(slot + std::size_t{1});
      sinks[slot] = std::move(sink);
    }
    auto item(std::uint64_t call, ByteView item_head, const FrameBody& body) -> bool {
      const bool taken = connection->core().item(call, item_head, body);
      happen();
      return taken;
    }
    void taken(std::uint64_t call, std::size_t) {
      connection->core().taken(call);
      happen();
    }
    void end_items(std::uint64_t call) {
      connection->core().end_items(call);
      happen();
    }

    void cancel(std::uint64_t call, rpc_errc reason = rpc_errc::cancelled) {
      connection->core().cancel(call, reason);
      happen();
    }

    /// Called after each call of the core: its output is written and its events are taken when the present handler
    /// returns.
    void happen() {
      if (active) return;
      if (!over && !connection->core().finished()) return connection->settle_soon();
      if (std::exchange(soon, true)) return;
      take_soon();
    }

    /// Takes the events of a connection that is over. If a handler throws, this is posted again, until every call has
    /// ended.
    void take_soon() {
      asio::post(executor, [self = this->shared_from_this()] { self->take_now(); });
    }
    void take_now() try {
      soon = false;
      on_activity(std::chrono::steady_clock::now());
    } catch (...) {
      take_soon();
      throw;
    }

    /// Reads the clock once for all calls that leave together.
    void look_at_clock() {
      if (!active && !soon && !connection->settles_soon()) now = std::chrono::steady_clock::now();
    }

    void on_activity(Instant at) {
      const auto self = this->shared_from_this();
      now = at;
      complete_calls();
      if (!connection->core().finished()) return;
      over = true;
      connection->detach();
      if (const auto told = std::exchange(closed, {})) told(connection->core().reason());
    }

    void complete_calls() {
      const detail::FlagWhile here{active};
      for (ClientEvent event; connection->core().next(now, event);) {
        using Kind = ClientEvent::Kind;
        const auto slot = static_cast<std::uint32_t>(event.call);
        const bool has_sink = slot < sinks.size() && sinks[slot] != nullptr && event.kind != Kind::greeted;
        const bool is_streamed = event.kind == Kind::item || event.kind == Kind::ended;
        if (is_streamed && !(has_sink && sinks[slot]->takes_items())) {
          event.error = {rpc_errc::protocol, "a stream instead of an answer"};
          if (event.kind == Kind::item) connection->core().cancel(event.call, rpc_errc::protocol);
        }
        observe(event);
        if (!error_texts.empty() && event.ends_call()) say_why(event);
        if (has_sink) tell_sink(slot, event);
        else if (event.ends_call()) waiter(slot).complete(event);
        connection->taken_one();
      }
      tell_availability();
    }

    void observe(const ClientEvent& event) {
      if constexpr (!std::is_same_v<Observes, const detail::NoCallObserver>) {
        const std::size_t bytes = event.head.size() + event.body.bytes().size();
        if (event.ends_call()) observed.ended(event.call, event.error.code, bytes, now);
        else if (bytes != 0) observed.more(event.call, bytes);
      }
    }

    void say_why(const ClientEvent& event) {
      const auto found = error_texts.extract(event.call);
      if (found && event.error) *found.mapped() = event.error.where;
    }

    void tell_sink(std::uint32_t slot, const ClientEvent& event) {
      const auto sink = event.ends_call() ? std::exchange(sinks[slot], nullptr) : sinks[slot];
      sink->happened(event);
    }

    void tell_availability() {
      const bool is = connection->core().available();
      if (is == was_available || connection->core().reason()) return;
      was_available = is;
      if (const auto told = available) told(is);  // it may destroy the client
    }

    // Completes the calls in a posted handler: the client's owner may be inside its destructor now.
    void end() {
      closed = {};
      available = {};
      observed.end_all(rpc_errc::lost);
      connection->core().give_up({rpc_errc::lost, "the client was destroyed"});
      connection->close();
      over = true;
      error_texts.clear();  // the texts may not exist any more when the calls complete
      take_soon();
    }

    auto waiter(std::uint32_t slot) -> Waiter& {
      while (waiters.size() <= slot / waiters_together) waiters.push_back(std::make_unique<Waiter[]>(waiters_together));
      return waiters[slot / waiters_together][slot % waiters_together];
    }

    Executor executor;
    std::function<void(const Error&)> closed;
    std::function<void(bool)> available;
    std::shared_ptr<Connection<ClientCore, State>> connection;
    std::vector<std::unique_ptr<Waiter[]>> waiters;  // by slot; in blocks, so that a waiter never moves
    std::vector<std::shared_ptr<detail::ClientCallSink>> sinks;  // by slot; of calls that stream or want chunks
    std::map<std::uint64_t, std::string*> error_texts;  // by call; of calls with `CallOptions::error_text`
    WireWriter head;
    [[no_unique_address]] detail::ObservedCalls<Observes> observed;
    Instant now{};  // when the clock was last read; the calls that are made now count from it
    bool active = false;  // `complete_calls` runs
    bool over = false;  // the connection has ended, and its end was or will be reported
    bool was_available = false;
    bool soon = false;  // `take_now` is posted
  };

  std::shared_ptr<State> state_;
};

/// A client without an observer of calls.
using RpcClient = BasicRpcClient<>;

}  // namespace v0
}  // namespace distrib
