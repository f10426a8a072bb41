// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/net/connection_core.hpp>
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

/// The server's end of a connection: requests in, answers out, by any order. Answers to calls that are over (cancelled,
/// connection lost) are passed over in silence.
///
/// A `ConnectionCore`; after each of its events take all that `next` has. It gives nothing, and reads nothing, while
/// connection or server have taken on as many bytes as they may. Memory: what is queued, and 32 bytes for each call
/// that was ever in flight at once. Threads: one at a time.
class ServerCore {
 public:
  /// `nonce`: drawn for this connection (`draw_nonce`). Throws `rpc_errc::unauthorized` for a secret without one.
  DISTRIB_DECL ServerCore(std::shared_ptr<ServerBudget> budget, Instant now, const Nonce& nonce = {});
  /// The only connection of its server.
  ServerCore(const RpcServerOptions& options, Instant now, const Nonce& nonce = {})
      : ServerCore{std::shared_ptr<ServerBudget>{new ServerBudget{options}}, now, nonce} {}

  /// An empty writer for the head of an answer, good for one: its memory is kept from call to call.
  [[nodiscard]] auto writer() noexcept -> WireWriter& { return share_.writer(); }

  /// Whether the client takes an answer of such a size.
  [[nodiscard]] auto allows(ByteView head, const FrameBody& body) const noexcept -> bool {
    return peer_.allow(head.size(), body.bytes().size());
  }

  /// Answers a call, which is then over; an answer that is not allowed fails it with `too_large`. `head` is copied, and
  /// so is a body that nobody keeps; others are shared until they are written. `checksum`: the body's, if known.
  /// `with_next`: it leaves together with what is said next on this connection, however late.
  void reply(std::uint64_t call, ByteView head, const FrameBody& body = {},
             std::optional<std::uint32_t> checksum = std::nullopt, bool with_next = false) {
    if (!allows(head, body)) return fail(call, rpc_errc::too_large);
    if (end(call)) queue({FrameKind::reply, 0, 0, 0, call, 0}, head, body, checksum, with_next);
  }

  /// Refuses a call, which is then over. `where`: what people are told beside the code's message.
  void fail(std::uint64_t call, const std::error_code& code, std::string_view where = {}) {
    if (end(call)) add_error(call, code, where);
  }

  /// One more item of a streaming call. False: it was not taken, because the client has not asked for so many or the
  /// call is over. Try again after a `credit` event.
  DISTRIB_DECL auto item(std::uint64_t call, ByteView head, const FrameBody& body = {}) -> bool;

  /// Ends a streaming call well.
  void end_stream(std::uint64_t call) {
    if (end(call)) queue({FrameKind::end, 0, 0, 0, call, 0});
  }

  /// An `item` of so many bytes, of head and body, was used up: the client may send another one in its place.
  DISTRIB_DECL void taken(std::uint64_t call, std::size_t bytes);

  /// Takes no more calls and tells the client so; `finished()` when those in flight are answered, or at `by`, which
  /// fails those that are left with `rpc_errc::lost`.
  void drain(Instant by) {
    if (handshake_) return refuse(rpc_errc::closed, {});  // a goodbye has no place before the greeting
    drain_by_ = std::min(drain_by_, by);
    if (!std::exchange(draining_, true)) queue({FrameKind::goodbye}, detail::bytes_of(requests_));
  }

  /// Ends the connection and tells the client why.
  void refuse(const std::error_code& code, std::string_view where) {
    if (reason_) return;
    add_error(0, code, where);
    reason_ = code;
  }

  /// Writes the next thing that has happened to `event`; false: nothing more. What it points to is valid until the core
  /// is asked for anything else.
  [[nodiscard]] DISTRIB_DECL auto next(Instant now, ServerEvent& event) -> bool;

  /// It goes on elsewhere: leaves the budget, to `join` another one before anything else.
  void leave() noexcept { share_.leave(); }
  void join(std::shared_ptr<ServerBudget> budget) {
    share_.join(std::move(budget));
    if ((parked_ = reader_.has_rest())) look_again_ = read_;  // it may be full here
  }

  // --- ConnectionCore ---

  [[nodiscard]] auto reads() const -> bool {
    return !finished() && !parked_ && !share_.owes_too_much() && !share_.holds_too_much();
  }
  [[nodiscard]] auto read_space(std::span<std::byte> lent) -> ReadSpace { return reader_.read_space(lent); }
  DISTRIB_DECL void bytes_read(std::size_t count, Instant now);
  void keep() { reader_.keep(); }
  /// What was read and not taken, because too much was owed, can be taken now.
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

  /// Why the connection ended; empty while it has not.
  [[nodiscard]] auto reason() const noexcept -> std::error_code { return reason_; }

  /// Whether a call is not over.
  [[nodiscard]] auto awaits(std::uint64_t call) const -> bool { return !reason_ && calls_.is_open(call); }

  /// Where the owner of this keeps whom it tells what happens to a call.
  [[nodiscard]] auto call_table() noexcept -> detail::ServerCalls& { return calls_; }

  /// Calls that are not answered.
  [[nodiscard]] auto calls() const noexcept -> std::size_t { return share_.calls(); }

 private:
  /// When the peer has made no sign of life for too long, or no progress.
  [[nodiscard]] auto silent_at() const noexcept -> Instant {
    const RpcServerOptions& options = share_.options();
    if (handshake_) return instant_after(heard_, options.greeting_within);
    return std::min(instant_after(heard_, options.silent_after),
                    instant_after(progress_.since(), options.frame_within));
  }

  [[nodiscard]] auto release_at() const noexcept -> Instant {
    return reader_.keeps_memory() ? read_ + memory_kept_for : never;
  }

  // Null: nobody waits for its answer.
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
    encode_error(head, code, where.substr(0, peer_.head_bytes / 2));  // more of it might be too large for the client
    queue({FrameKind::error, 0, 0, 0, call, 0}, head.view());
  }

  DISTRIB_DECL auto tell(ServerEvent& event, ServerEvent::Kind kind, std::uint64_t call) const -> bool;

  DISTRIB_DECL auto take(const Frame& frame, Instant now, ServerEvent& event) -> bool;

  auto refuse_peer(std::string_view why) -> bool {
    refuse(rpc_errc::protocol, why);
    return false;
  }

  DISTRIB_DECL auto take_greeting(const Frame& frame, ServerEvent& event) -> bool;

  DISTRIB_DECL auto take_request(const Frame& frame, Instant now, ServerEvent& event) -> bool;

  // Nobody waits for the body of a call that was not begun (another one may have its id), or is over.
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
  static constexpr std::chrono::milliseconds look_again_after{20};  // by a connection that has to wait for others

  BudgetShare share_;
  FrameReader reader_;
  FrameQueue queue_;
  Instant heard_;  // when the last bytes came or went; before the greeting, when it was opened
  Instant read_;  // when the last bytes came
  Instant look_again_ = never;  // nothing is taken until there is less to do here
  Instant drain_by_ = never;
  detail::FrameProgress progress_;
  FrameLimits peer_;  // what the client takes
  bool came_whole_ = false;  // frames have, since all was looked at
  bool begun_ = false;  // the last request was taken on
  bool parked_ = false;  // what was read waits until less is owed
  bool draining_ = false;
  std::uint64_t requests_ = 0;  // that came
  std::unique_ptr<ServerHandshake> handshake_;  // until the client has shown who it is
  std::error_code reason_;
  detail::ServerCalls calls_;
};

static_assert(ConnectionCore<ServerCore>);

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/impl/server_core.ipp>
#endif
