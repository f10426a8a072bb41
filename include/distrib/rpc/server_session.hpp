// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connection.hpp>
#include <distrib/net/flag_while.hpp>
#include <distrib/net/peer_stream.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/rpc/call_observer.hpp>
#include <distrib/rpc/detail/observed_calls.hpp>
#include <distrib/rpc/detail/server_call_sink.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/frame_body.hpp>
#include <distrib/rpc/nonce.hpp>
#include <distrib/rpc/server_core.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <string_view>
#include <system_error>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

/// One connection of an `RpcServer`, through which a `Call` is answered. `call` is the id of a call, from its
/// `ServerEvent`. Answers to a call that is over, and answers after the end of the connection, are ignored without an
/// error.
///
/// Handlers may keep a session alive by `ServerConnection` as long as they need.
///
/// Threads: only the executor's thread.
template <CallObserver Observes = const detail::NoCallObserver>
class BasicServerSession : public Connection<ServerCore, BasicServerSession<Observes>> {
  using Base = Connection<ServerCore, BasicServerSession>;
  friend Base;

 public:
  /// Receives the events of a session.
  class Owner {
   public:
    virtual ~Owner() = default;
    /// Called for each event of the session, in order, on the executor's thread. Views in `event` are valid during the
    /// call.
    virtual void happened(const std::shared_ptr<BasicServerSession>& session, const ServerEvent& event) = 0;
    /// Called once when the connection has ended, but not after `close` or `release`. No call of the owner follows.
    virtual void closed(const std::shared_ptr<BasicServerSession>& session) = 0;
  };

  /// Makes a session for a connected stream; `start` begins to read. `observer` must live until `closed` was called, or
  /// until `close()` returns.
  BasicServerSession(Owner& owner, PeerStream stream, std::shared_ptr<ServerBudget> budget,
                     Observes& observer = detail::no_call_observer)
      : BasicServerSession{owner, std::move(budget), stream.begun(), stream.binding(), std::move(stream), observer} {}

  /// Continues with a core that another session has released.
  BasicServerSession(Owner& owner, PeerStream stream, ServerCore released,
                     Observes& observer = detail::no_call_observer)
      : Base{std::move(stream), *this, std::move(released)}, owner_{&owner}, observed_{observer, *this} {}

  /// Begins to read. Call it once.
  void start() { settle(); }

  /// Accepts no more calls. The connection ends when the calls in flight are answered, at the latest at `by`.
  void drain(Instant by) {
    core().drain(by);
    answered();
  }

  /// Ends the connection at once. The owner is not called any more.
  void close() {
    owner_ = nullptr;
    observed_.end_all(rpc_errc::lost);
    Base::close();
    core().call_table().end_sinks(rpc_errc::closed);
  }

  /// True while the session has an owner that receives its events.
  [[nodiscard]] auto is_served() const noexcept -> bool { return owner_ != nullptr; }

  /// Holds back all further events, so that the session can be released.
  void pause() noexcept { is_paused_ = true; }

  /// Returns stream and core, to continue in a session on another thread; see `Connection::release`. The owner is not
  /// called any more.
  [[nodiscard]] auto release(const typename Base::Executor& executor) -> std::pair<PeerStream, ServerCore> {
    owner_ = nullptr;
    core().leave();
    return Base::release(executor);
  }

  /// Sends the further events of `call` to `sink` instead of the owner. For handlers.
  void attach(std::uint64_t call, std::shared_ptr<detail::ServerCallSink> sink) {
    core().call_table().attach(call, std::move(sink));
  }

  /// True if the client still waits for the answer to the call: it was neither answered nor cancelled, and the
  /// connection has not ended.
  [[nodiscard]] auto awaits(std::uint64_t call) const -> bool { return owner_ != nullptr && core().awaits(call); }

  /// Returns an empty writer for the head of one answer. It is the same writer each time, so its memory is reused.
  [[nodiscard]] auto writer() noexcept -> WireWriter& { return core().writer(); }

  /// Answers the call and ends it. If the client does not accept an answer of this size, the call fails with
  /// `rpc_errc::too_large` instead.
  ///
  /// Copies `head`. A body without an owner is copied; a body with an owner may be shared until it is written.
  /// `checksum`: CRC-32C of the body if it is known; empty: it is computed.
  ///
  /// `with_next`: holds the answer back and sends it with the next frame on this connection. Trap: the client gets the
  /// answer only then; use it only if the client waits for another call on this connection.
  void reply(std::uint64_t call, ByteView head, const FrameBody& body,
             std::optional<std::uint32_t> checksum = std::nullopt, bool with_next = false) {
    if (!core().allows(head, body)) return fail(call, rpc_errc::too_large);
    core().reply(call, head, body, checksum, with_next);
    observe_reply(call, head.size() + body.bytes().size());
    (void)core().call_table().take_sink(call);
    answered();
  }
  /// Ends the call with an error. `where`: a text that says where the failure happened, such as the file or the task.
  /// It is sent beside the code, shortened to half of the largest head that the client accepts. The caller gets `code`,
  /// or another code with the same condition if it does not know the category.
  void fail(std::uint64_t call, const std::error_code& code, std::string_view where = {}) {
    core().fail(call, code, where);
    observe_end(call, code, 0);
    (void)core().call_table().take_sink(call);
    answered();
  }
  /// Sends one more item of a streaming call. Returns false if the item was not sent: the client has granted no credit
  /// (retry after a `credit` event), or the call is over. An item that is too large for the client ends the call with
  /// `rpc_errc::too_large`.
  auto item(std::uint64_t call, ByteView head, const FrameBody& body) -> bool {
    if (!core().allows(head, body)) {
      const auto sink = core().call_table().take_sink(call);
      fail(call, rpc_errc::too_large);
      if (sink != nullptr) sink->ended(rpc_errc::too_large);
      return false;
    }
    const bool taken = core().item(call, head, body);
    if (taken) observed_.more(call, head.size() + body.bytes().size());
    answered();
    return taken;
  }
  /// Reports that an item of an `item` event has been used: the client may send another item. `bytes`: the size of its
  /// head and body together. Does nothing if the call is over.
  void taken(std::uint64_t call, std::size_t bytes) {
    core().taken(call, bytes);
    answered();
  }
  /// Ends a streaming call without an error.
  void end_stream(std::uint64_t call) {
    core().end_stream(call);
    observe_reply(call, 0);
    (void)core().call_table().take_sink(call);
    answered();
  }

  /// Ends the connection and tells the client why: every call of the client that is not answered fails with `code` and
  /// the text `where`, as in `fail` (a call that the client has not begun to send fails with `rpc_errc::not_sent`).
  /// Answers that were given before are still sent. Does nothing if the connection has ended.
  void refuse(const std::error_code& code, std::string_view where) {
    core().refuse(code, where);
    answered();
  }

  /// Returns why the connection has ended; empty while it has not ended, and if it ended as planned.
  [[nodiscard]] auto reason() const noexcept -> std::error_code { return core().reason(); }

  std::uint32_t index = 0;  ///< The session's index in the list of its owner. For the owner only.

 private:
  // The initializers of a braced list run from left to right, so `stream` is asked before it is moved from.
  BasicServerSession(Owner& owner, std::shared_ptr<ServerBudget> budget, Instant begun, const ChannelBinding& binding,
                     PeerStream&& stream, Observes& observer)
      : Base{std::move(stream), *this, std::move(budget), begun, draw_nonce(), binding},
        owner_{&owner},
        observed_{observer, *this} {}

  using Base::core;
  using Base::detach;
  using Base::set_linger;
  using Base::settle;
  using Base::settle_soon;
  using Base::settles_soon;
  using Base::taken_one;

  [[nodiscard]] auto self() -> std::shared_ptr<BasicServerSession> {
    return std::static_pointer_cast<BasicServerSession>(this->shared_from_this());
  }

  /// Called by `Connection` when bytes have arrived or were written, or a timer has expired.
  void on_activity(Instant now) {
    take_events(now);
    observed_.flush();
    leave_when_finished();
  }

  void take_events(Instant now) {
    const auto session = self();
    const detail::FlagWhile here{active_};
    if constexpr (is_observed) now_ = now;
    for (ServerEvent event; owner_ != nullptr && !is_paused_ && core().next(now, event);) {
      observe(event);
      if (!tell_sink(event)) owner_->happened(session, event);
      taken_one();
    }
  }

  void observe(const ServerEvent& event) {
    if constexpr (is_observed) {
      const std::size_t bytes = event.head.size() + event.body_bytes;
      if (event.kind == ServerEvent::Kind::request) observed_.started(event.call, event.method, bytes, now_);
      if (event.kind == ServerEvent::Kind::cancelled) observed_.ends(event.call, rpc_errc::cancelled, 0);
    }
  }
  void observe_reply(std::uint64_t call, std::size_t bytes) {
    if constexpr (is_observed) observe_end(call, observed_.well(), bytes);
  }
  // The answers of one event leave at its end; answers from outside of an event leave together when `settle_soon` runs.
  void observe_end(std::uint64_t call, const std::error_code& code, std::size_t bytes) {
    if constexpr (is_observed) {
      if (active_) return observed_.ends(call, code, bytes);
      if (!settles_soon()) now_ = std::chrono::steady_clock::now();
      observed_.ended(call, code, bytes, now_);
    }
  }

  auto tell_sink(const ServerEvent& event) -> bool {
    if (event.kind == ServerEvent::Kind::request) return false;
    const bool is_over = event.kind == ServerEvent::Kind::cancelled;
    const auto sink = is_over ? core().call_table().take_sink(event.call) : core().call_table().sink(event.call);
    if (sink != nullptr) sink->happened(event);
    return sink != nullptr;
  }

  // Called after each answer. After an answer from outside of `on_activity` it causes the output to be written. It
  // takes no request: a handler must not be called while it answers another call.
  void answered() {
    if (active_ || owner_ == nullptr) return;
    settle_soon();
    leave_when_finished();
  }

  void leave_when_finished() {
    if (owner_ == nullptr || !core().finished()) return;
    detach();
    observed_.end_all(rpc_errc::lost);
    const auto session = self();
    Owner* const owner = std::exchange(owner_, nullptr);
    core().call_table().end_sinks(rpc_errc::closed);
    owner->closed(session);  // last, because it may throw
  }

  struct Nothing {};
  static constexpr bool is_observed = !std::is_same_v<Observes, const detail::NoCallObserver>;

  bool active_ = false;
  bool is_paused_ = false;
  Owner* owner_;  // null: the owner has closed or released the session, or the connection is over
  [[no_unique_address]] detail::ObservedCalls<Observes> observed_;
  [[no_unique_address]] std::conditional_t<is_observed, Instant, Nothing> now_{};  // the time of the last event
};

/// A session without an observer of calls.
using ServerSession = BasicServerSession<>;

/// The pointer by which handlers keep a connection alive.
using ServerConnection = std::shared_ptr<ServerSession>;

}  // namespace v0
}  // namespace distrib
