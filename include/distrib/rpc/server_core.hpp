// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/net/connection_core.hpp>
#include <distrib/rpc/detail/server_calls.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/frame.hpp>
#include <distrib/rpc/frame_body.hpp>
#include <distrib/rpc/frame_progress.hpp>
#include <distrib/rpc/frame_queue.hpp>
#include <distrib/rpc/frame_reader.hpp>
#include <distrib/rpc/greeting.hpp>
#include <distrib/rpc/handshake.hpp>
#include <distrib/rpc/nonce.hpp>
#include <distrib/rpc/remote_error.hpp>
#include <distrib/rpc/server_budget.hpp>
#include <distrib/rpc/server_event.hpp>
#include <distrib/rpc/stream_credit.hpp>

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
  template <class = void>
  ServerCore(std::shared_ptr<ServerBudget> budget, Instant now, const Nonce& nonce = {})
      : share_{std::move(budget)}, reader_{greeting_limits}, heard_{now}, read_{now} {
    Greeting greeting;
    greeting.limits = share_.options().limits;
    greeting.max_calls = share_.options().max_calls;
    handshake_ = std::make_unique<ServerHandshake>(greeting, share_.options().services, share_.options().secret, nonce);
  }
  /// The only connection of its server.
  template <class = void>
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
  template <class = void> void fail(std::uint64_t call, const std::error_code& code, std::string_view where = {}) {
    if (end(call)) add_error(call, code, where);
  }

  /// One more item of a streaming call. False: it was not taken, because the client has not asked for so many or the
  /// call is over. Try again after a `credit` event.
  template <class = void> auto item(std::uint64_t call, ByteView head, const FrameBody& body = {}) -> bool {
    if (!allows(head, body)) fail(call, rpc_errc::too_large);
    detail::ServerCall* const begun = open(call);
    if (begun == nullptr || !begun->credit.send()) return false;
    queue({FrameKind::item, 0, 0, 0, call, 0}, head, body);
    return true;
  }

  /// Ends a streaming call well.
  template <class = void> void end_stream(std::uint64_t call) {
    if (end(call)) queue({FrameKind::end, 0, 0, 0, call, 0});
  }

  /// An `item` of so many bytes, of head and body, was used up: the client may send another one in its place.
  template <class = void> void taken(std::uint64_t call, std::size_t bytes) {
    detail::ServerCall* const begun = open(call);
    if (begun == nullptr) return;
    begun->held -= bytes;
    share_.release(bytes);
    if (const std::uint32_t more = begun->credit.take(); more != 0)
      queue({FrameKind::credit, 0, 0, 0, call, 0}, bytes_of(more));
  }

  /// Takes no more calls and tells the client so; `finished()` when those in flight are answered, or at `by`, which
  /// fails those that are left with `rpc_errc::lost`.
  template <class = void> void drain(Instant by) {
    if (handshake_) return refuse(rpc_errc::closed, {});  // a goodbye has no place before the greeting
    drain_by_ = std::min(drain_by_, by);
    if (!std::exchange(draining_, true)) queue({FrameKind::goodbye}, bytes_of(requests_));
  }

  /// Ends the connection and tells the client why.
  template <class = void> void refuse(const std::error_code& code, std::string_view where) {
    if (reason_) return;
    add_error(0, code, where);
    reason_ = code;
  }

  /// Writes the next thing that has happened to `event`; false: nothing more. What it points to is valid until the core
  /// is asked for anything else.
  template <class = void> [[nodiscard]] auto next(Instant now, ServerEvent& event) -> bool {
    event.body = {};  // its memory may be wanted for the next one
    Frame frame;
    while (!finished()) {
      const bool is_full = share_.is_full();
      parked_ = is_full && reader_.has_rest();
      look_again_ = is_full && !share_.owes_too_much() ? now + look_again_after : never;
      if (is_full) {
        progress_.stop();
        return false;
      }
      if (!reader_.next(frame, [this](const FrameHeader& header) { return share_.takes_chunks(header); })) {
        // A stranger gets no answer: he would not understand it.
        if (reader_.error() && handshake_) reason_ = reader_.error();
        if (reader_.error()) refuse(reader_.error(), {});
        progress_.look(reader_.in_frame(), std::exchange(came_whole_, false), now);
        return false;
      }
      came_whole_ |= frame.is_last();
      if (take(frame, now, event)) return true;
    }
    return false;
  }

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
  void bytes_read(std::size_t count, Instant now) {
    reader_.bytes_read(count);
    progress_.read(count);
    read_ = now;
    if (!handshake_) heard_ = now;
  }
  void keep() { reader_.keep(); }
  /// What was read and not taken, because too much was owed, can be taken now.
  [[nodiscard]] auto ready() const -> bool { return parked_ && !finished() && !share_.is_full(); }
  [[nodiscard]] auto output() -> const std::vector<FrameBody>& {
    if (finished()) queue_.hurry();
    return queue_.output();
  }
  template <class = void> void written(Instant now) {
    queue_.written();
    if (requests_ == 0) queue_.release();  // who is silent costs little
    share_.owe(queue_.queued_bytes());
    if (!handshake_) heard_ = now;  // somebody reads there
  }
  [[nodiscard]] auto wake() const -> std::optional<Instant> {
    if (finished()) return std::nullopt;
    return std::min({silent_at(), look_again_, drain_by_, release_at()});
  }
  template <class = void> void woken(Instant now) {
    if (finished()) return;
    if (now >= look_again_) heard_ = now;  // it is not the peer who is waited for
    if (now >= release_at()) reader_.release_memory();
    if (now >= silent_at()) reason_ = rpc_errc::silent;
    if (now >= drain_by_) refuse(rpc_errc::lost, "the server ended before the answer");
  }
  template <class = void> void lost(const std::error_code& reason) {
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

  template <class = void> auto end(std::uint64_t call) -> bool {
    detail::ServerCall* const begun = open(call);
    if (begun == nullptr) return false;
    begun->open = false;
    share_.end(begun->held);
    return true;
  }

  template <class = void> void add_error(std::uint64_t call, const std::error_code& code, std::string_view where) {
    WireWriter& head = writer();
    encode_error(head, code, where.substr(0, peer_.head_bytes / 2));  // more of it might be too large for the client
    queue({FrameKind::error, 0, 0, 0, call, 0}, head.view());
  }

  auto tell(ServerEvent& event, ServerEvent::Kind kind, std::uint64_t call) const -> bool {
    event.kind = kind;
    event.call = call;
    event.arrived = read_;
    event.method = event.service = event.body_bytes = event.body_checksum = 0;
    event.deadline = never;
    event.metadata = {};
    event.head = {};
    return true;
  }

  template <class = void> auto take(const Frame& frame, Instant now, ServerEvent& event) -> bool {
    if (handshake_) return take_greeting(frame, event);
    if (frame.part == FramePart::chunk || frame.part == FramePart::end) return take_part(frame, event);
    switch (frame.header->kind) {
      case FrameKind::request: return begun_ = take_request(frame, now, event);
      case FrameKind::cancel:
        return end(frame.header->call) && tell(event, ServerEvent::Kind::cancelled, frame.header->call);
      case FrameKind::credit: return take_credit(frame, event);
      case FrameKind::item: return take_item(frame, event);
      case FrameKind::end: return take_end(frame, event);
      case FrameKind::ping: queue({FrameKind::pong}); return false;
      case FrameKind::pong: return false;
      case FrameKind::goodbye: draining_ = true; return false;
      default: return refuse_peer({});
    }
  }

  template <class = void> auto refuse_peer(std::string_view why) -> bool {
    refuse(rpc_errc::protocol, why);
    return false;
  }

  template <class = void> auto take_greeting(const Frame& frame, ServerEvent& event) -> bool {
    if (frame.header->kind == FrameKind::error && frame.header->call == 0) {  // we have not proved who we are
      reason_ = decode_error(frame.head, {}).code;
      return false;
    }
    if (const Error error = handshake_->take(frame, queue_)) {
      refuse(error.code, error.where);
      return false;
    }
    if (!handshake_->over()) return false;
    tell(event, ServerEvent::Kind::greeted, 0);
    event.service = handshake_->service() == any_service ? share_.next_service() : handshake_->service();
    heard_ = read_;
    peer_ = handshake_->limits();
    handshake_.reset();
    reader_.set_limits(share_.options().limits);
    return true;
  }

  template <class = void> auto take_request(const Frame& frame, Instant now, ServerEvent& event) -> bool {
    const std::uint64_t call = frame.header->call;
    ++requests_;
    if (draining_) return refuse_call(call, rpc_errc::closed);
    if (static_cast<std::uint32_t>(call) >= share_.options().max_calls || !share_.has_calls())
      return refuse_call(call, rpc_errc::exhausted);
    detail::ServerCall* const slot = calls_.slot_for(call);
    if (slot == nullptr) return refuse_peer("a call was begun twice");
    if (frame.head.size() < request_prefix_bytes) return refuse_call(call, rpc_errc::bad_message);
    const auto left = load_le<std::uint32_t>(frame.head.data());
    const auto metadata_bytes = load_le<std::uint32_t>(frame.head.data() + 4);
    const ByteView rest = frame.head.subspan(request_prefix_bytes);
    if (metadata_bytes > rest.size()) return refuse_call(call, rpc_errc::bad_message);
    const Instant deadline = read_ + std::chrono::milliseconds{left};  // may have waited here
    if (left != no_deadline && deadline <= now) return refuse_call(call, rpc_errc::deadline_passed);

    const std::size_t held = frame.is_last() ? frame.head.size() + frame.body.bytes().size() : 0;
    slot->begin(call, held);
    share_.begin(held);
    tell(event, ServerEvent::Kind::request, call);
    event.method = frame.header->method;
    event.deadline = left == no_deadline ? never : deadline;
    event.metadata = rest.first(metadata_bytes);
    event.head = rest.subspan(metadata_bytes);
    event.body = frame.body;
    event.body_bytes = frame.header->body_bytes;
    event.body_checksum = frame.part == FramePart::whole ? frame.body_checksum : 0;
    return true;
  }

  // Nobody waits for the body of a call that was not begun (another one may have its id), or is over.
  template <class = void> auto take_part(const Frame& frame, ServerEvent& event) -> bool {
    detail::ServerCall* const call = begun_ ? open(frame.header->call) : nullptr;
    if (call == nullptr) return false;
    tell(event, frame.is_last() ? ServerEvent::Kind::body_end : ServerEvent::Kind::chunk, frame.header->call);
    event.body = frame.body;
    if (!frame.is_last()) return true;
    event.body_checksum = frame.body_checksum;
    hold(*call, frame.header->head_bytes);  // not before: who holds too much reads no more
    return true;
  }

  template <class = void> auto refuse_call(std::uint64_t call, rpc_errc code) -> bool {
    add_error(call, code, {});
    return false;
  }

  template <class = void> auto take_item(const Frame& frame, ServerEvent& event) -> bool {
    detail::ServerCall* const call = open(frame.header->call);
    if (call == nullptr) return false;
    if (call->ended) return refuse_peer("an item after the end");
    if (!call->credit.receive()) return refuse_peer("more items than were asked for");
    hold(*call, frame.head.size() + frame.body.bytes().size());
    tell(event, ServerEvent::Kind::item, frame.header->call);
    event.head = frame.head;
    event.body = frame.body;
    return true;
  }

  template <class = void> auto take_end(const Frame& frame, ServerEvent& event) -> bool {
    detail::ServerCall* const call = open(frame.header->call);
    if (call == nullptr || std::exchange(call->ended, true)) return false;
    return tell(event, ServerEvent::Kind::ended, frame.header->call);
  }

  template <class = void> auto take_credit(const Frame& frame, ServerEvent& event) -> bool {
    if (frame.head.size() != sizeof(std::uint32_t)) return refuse_peer("a credit without a number");
    const auto more = load_le<std::uint32_t>(frame.head.data());
    detail::ServerCall* const call = open(frame.header->call);
    return call != nullptr && call->credit.add(more) && tell(event, ServerEvent::Kind::credit, frame.header->call);
  }

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
  FrameProgress progress_;
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
