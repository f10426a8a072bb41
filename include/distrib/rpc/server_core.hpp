// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/net/connection_core.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/rpc/detail/frame_progress.hpp>
#include <distrib/rpc/detail/server_calls.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/frame.hpp>
#include <distrib/rpc/frame_body.hpp>
#include <distrib/rpc/frame_limits.hpp>
#include <distrib/rpc/frame_queue.hpp>
#include <distrib/rpc/frame_reader.hpp>
#include <distrib/rpc/handshake.hpp>
#include <distrib/rpc/nonce.hpp>
#include <distrib/rpc/remote_error.hpp>
#include <distrib/rpc/server_budget.hpp>
#include <distrib/rpc/server_event.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The server's end of a connection: receives requests and sends answers, in any order. Answers to calls that are over
/// (cancelled, connection lost) are ignored without an error.
///
/// It is a `ConnectionCore`: after each of its events call `next` until that returns false. Over a limit of bytes
/// `next` returns no events. Over a limit of the connection nothing is read either; over the limit of all connections
/// (`server_bytes`) it reads on until received frames have to wait.
///
/// Memory: the queued frames, and an entry (`detail::ServerCall`) for each slot up to the highest slot that the client
/// has used.
///
/// Threads: one at a time.
class ServerCore {
 public:
  /// Waits for the client's greeting. `nonce`: drawn for this connection by `draw_nonce`; needed only with a secret.
  /// `binding`: of the connection, if it is secure.
  /// Throws `rpc_errc::unauthorized` for a secret without a nonce.
  DISTRIB_DECL ServerCore(std::shared_ptr<ServerBudget> budget, Instant now, const Nonce& nonce = {},
                          const ChannelBinding& binding = {});
  /// Makes the only connection of a server: with a budget of its own.
  ServerCore(const RpcServerOptions& options, Instant now, const Nonce& nonce = {}, const ChannelBinding& binding = {})
      : ServerCore{std::shared_ptr<ServerBudget>{new ServerBudget{options}}, now, nonce, binding} {}

  /// Returns an empty writer for the head of one answer. It is the same writer each time, so its memory is reused.
  [[nodiscard]] auto writer() noexcept -> WireWriter& { return share_.writer(); }

  /// True if the client accepts an answer or item of this size.
  [[nodiscard]] auto allows(ByteView head, const FrameBody& body) const noexcept -> bool {
    return peer_.allow(head.size(), body.bytes().size());
  }

  /// Answers the call and ends it. If the client does not accept an answer of this size, the call fails with
  /// `too_large` instead.
  ///
  /// Copies `head`. A body without an owner is copied; a body with an owner may be shared until it is written.
  /// `checksum`: CRC-32C of the body if it is known; empty: it is computed.
  ///
  /// `with_next`: holds the answer back and sends it with the next frame on this connection. Trap: the client gets the
  /// answer only then; use it only if the client waits for another call on this connection.
  void reply(std::uint64_t call, ByteView head, const FrameBody& body = {},
             std::optional<std::uint32_t> checksum = std::nullopt, bool with_next = false) {
    if (!allows(head, body)) return fail(call, rpc_errc::too_large);
    if (end(call)) queue({FrameKind::reply, 0, 0, 0, call, 0}, head, body, checksum, with_next);
  }

  /// Ends a call with an error. `where`: a text for the reader of the error, sent beside the code; it is shortened to
  /// half of the largest head that the client accepts.
  void fail(std::uint64_t call, const std::error_code& code, std::string_view where = {}) {
    if (end(call)) add_error(call, code, where);
  }

  /// Sends one more item of a streaming call. Returns false if the item was not sent: the client has granted no credit
  /// (retry after a `credit` event), or the call is over. An item that is too large for the client ends the call with
  /// `too_large`.
  DISTRIB_DECL auto item(std::uint64_t call, ByteView head, const FrameBody& body = {}) -> bool;

  /// Ends a streaming call without an error.
  void end_stream(std::uint64_t call) {
    if (end(call)) queue({FrameKind::end, 0, 0, 0, call, 0});
  }

  /// Reports that an item of an `item` event has been used: the client may send another item. `bytes`: the size of its
  /// head and body together. Does nothing if the call is over.
  DISTRIB_DECL void taken(std::uint64_t call, std::size_t bytes);

  /// Accepts no more calls, and tells the client. `finished()` becomes true when the calls in flight are answered.
  /// Calls that are left at `by` fail with `rpc_errc::lost`. Before the handshake is over it ends the connection at
  /// once, with `rpc_errc::closed`. If it is called again, the earlier time counts.
  void drain(Instant by) {
    if (handshake_) return refuse(rpc_errc::closed, {});  // a goodbye is not allowed before the greeting
    drain_by_ = std::min(drain_by_, by);
    if (!std::exchange(draining_, true)) queue({FrameKind::goodbye}, detail::bytes_of(requests_));
  }

  /// Ends the connection and tells the client why. Does nothing if it has ended.
  void refuse(const std::error_code& code, std::string_view where) {
    if (reason_) return;
    add_error(0, code, where);
    reason_ = code;
  }

  /// Writes the next event to `event`. Returns false if there is none, if a limit of bytes is exceeded, or after
  /// `finished()`. What the event points to is valid until the next call of the core.
  [[nodiscard]] DISTRIB_DECL auto next(Instant now, ServerEvent& event) -> bool;

  /// Leaves the budget, so that the connection can continue on another thread. Call `join` there before anything else.
  void leave() noexcept { share_.leave(); }
  /// Continues with the budget of another thread, after `leave`.
  void join(std::shared_ptr<ServerBudget> budget) {
    share_.join(std::move(budget));
    if ((parked_ = reader_.has_rest())) look_again_ = read_;  // the new budget may be exhausted now
  }

  // --- ConnectionCore ---

  [[nodiscard]] auto reads() const -> bool {
    return !finished() && !parked_ && !share_.owes_too_much() && !share_.holds_too_much();
  }
  [[nodiscard]] auto read_space(std::span<std::byte> lent) -> ReadSpace { return reader_.read_space(lent); }
  DISTRIB_DECL void bytes_read(std::size_t count, Instant now);
  void keep() { reader_.keep(); }
  /// True if received frames that had to wait for a limit of bytes can be taken now.
  [[nodiscard]] auto ready() const -> bool { return parked_ && !finished() && !share_.is_full(); }
  [[nodiscard]] auto output() -> const std::vector<FrameBody>& {
    if (finished()) queue_.hurry();
    return queue_.output();
  }
  DISTRIB_DECL void written(Instant now);
  [[nodiscard]] auto wake() const -> std::optional<Instant> {
    if (finished()) return std::nullopt;
    return std::min({silent_at(), look_again_, drain_by_, release_at()});
  }
  DISTRIB_DECL void woken(Instant now);
  void lost(const std::error_code& reason) {
    if (!reason_) reason_ = reason ? reason : rpc_errc::lost;
  }
  [[nodiscard]] auto finished() const -> bool { return reason_ || (draining_ && share_.calls() == 0); }

  /// Returns why the connection has ended; empty while it has not ended, and if it ended as planned: after `drain` or
  /// the client's goodbye, when all calls were answered.
  [[nodiscard]] auto reason() const noexcept -> std::error_code { return reason_; }

  /// True if the call is not over: its answer is still awaited.
  [[nodiscard]] auto awaits(std::uint64_t call) const -> bool { return !reason_ && calls_.is_open(call); }

  /// Returns the table of calls. The core keeps the state of each call there; the session that owns the core attaches
  /// to each open call the sink that receives its events.
  [[nodiscard]] auto call_table() noexcept -> detail::ServerCalls& { return calls_; }

  /// Returns the number of calls that are not answered.
  [[nodiscard]] auto calls() const noexcept -> std::size_t { return share_.calls(); }

 private:
  /// Returns when the client will have been silent, or without progress in a frame, for too long.
  [[nodiscard]] auto silent_at() const noexcept -> Instant {
    const RpcServerOptions& options = share_.options();
    if (handshake_) return instant_after(heard_, options.greeting_within);
    return std::min(instant_after(heard_, options.silent_after),
                    instant_after(progress_.since(), options.frame_within));
  }

  [[nodiscard]] auto release_at() const noexcept -> Instant {
    return reader_.keeps_memory() ? read_ + memory_kept_for : never;
  }

  // Null: the call is over, or was never started.
  [[nodiscard]] auto open(std::uint64_t call) noexcept -> detail::ServerCall* {
    return reason_ ? nullptr : calls_.open(call);
  }

  void hold(detail::ServerCall& call, std::size_t bytes) noexcept {
    call.held += bytes;
    share_.hold(bytes);
  }

  void queue(const FrameHeader& header, ByteView head = {}, const FrameBody& body = {},
             std::optional<std::uint32_t> checksum = std::nullopt, bool may_wait = false) {
    queue_.add(header, {{}, {}, head}, body, checksum, may_wait);
    share_.owe(queue_.queued_bytes());
  }

  DISTRIB_DECL auto end(std::uint64_t call) -> bool;

  void add_error(std::uint64_t call, const std::error_code& code, std::string_view where) {
    WireWriter& head = writer();
    encode_error(head, code, where.substr(0, peer_.head_bytes / 2));  // a longer head might be too large for the client
    queue({FrameKind::error, 0, 0, 0, call, 0}, head.view());
  }

  DISTRIB_DECL auto tell(ServerEvent& event, ServerEvent::Kind kind, std::uint64_t call) const -> bool;

  DISTRIB_DECL auto take(const Frame& frame, Instant now, ServerEvent& event) -> bool;

  auto refuse_peer(std::string_view why) -> bool {
    refuse(rpc_errc::protocol, why);
    return false;
  }

  DISTRIB_DECL auto take_greeting(const Frame& frame, ServerEvent& event) -> bool;

  // Tells a client that speaks TLS, in TLS, that this server does not. Returns the reason of the end.
  DISTRIB_DECL auto refuse_tls() -> std::error_code;

  DISTRIB_DECL auto take_request(const Frame& frame, Instant now, ServerEvent& event) -> bool;

  // Ignores the body of a request that was not accepted (an open call may have the same id), or whose call is over.
  DISTRIB_DECL auto take_part(const Frame& frame, ServerEvent& event) -> bool;

  auto refuse_call(std::uint64_t call, rpc_errc code) -> bool {
    add_error(call, code, {});
    return false;
  }

  DISTRIB_DECL auto take_item(const Frame& frame, ServerEvent& event) -> bool;

  auto take_end(const Frame& frame, ServerEvent& event) -> bool {
    detail::ServerCall* const call = open(frame.header->call);
    if (call == nullptr || std::exchange(call->ended, true)) return false;
    return tell(event, ServerEvent::Kind::ended, frame.header->call);
  }

  DISTRIB_DECL auto take_credit(const Frame& frame, ServerEvent& event) -> bool;

  static constexpr std::uint32_t no_deadline = 0xffffffffU;
  static constexpr Instant never = Instant::max();
  // How often a connection checks whether the limit of all connections allows it to continue.
  static constexpr std::chrono::milliseconds look_again_after{20};

  BudgetShare share_;
  FrameReader reader_;
  FrameQueue queue_;
  Instant heard_;  // when the last bytes arrived or were written; before the greeting, when the connection was opened
  Instant read_;  // when the last bytes arrived
  // when to check a limit of bytes again; `never`: none is exceeded, or only that of answers
  Instant look_again_ = never;
  Instant drain_by_ = never;
  detail::FrameProgress progress_;
  FrameLimits peer_;  // what the client accepts
  bool came_whole_ = false;  // a frame became complete since the last `progress_.look`
  bool begun_ = false;  // the last request was accepted
  bool parked_ = false;  // received frames wait because a limit of bytes is exceeded
  bool draining_ = false;
  std::uint64_t requests_ = 0;  // requests that have arrived
  std::unique_ptr<ServerHandshake> handshake_;  // until it is over
  std::error_code reason_;
  detail::ServerCalls calls_;
};

static_assert(ConnectionCore<ServerCore>);

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/impl/server_core.ipp>
#endif
