// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/net/connection_core.hpp>
#include <distrib/rpc/client_event.hpp>
#include <distrib/rpc/client_options.hpp>
#include <distrib/rpc/deadline_wheel.hpp>
#include <distrib/rpc/detail/call_slots.hpp>
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

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// The client's end of a connection: calls out, answers in, by any order. Every call ends by exactly one event, also
/// when the connection is lost, a deadline passes or the call is refused at once; never from inside `call`.
///
/// A `ConnectionCore`; after each of its events take all that `next` has. Memory: what is queued, 72 bytes for each
/// call that was ever in flight at once, and 2 KiB once there was a deadline; nothing is allocated for a further call.
/// Threads: one at a time.
class ClientCore {
 public:
  /// `nonce`: drawn for this connection (`draw_nonce`). Throws `rpc_errc::unauthorized` for a secret without one.
  template <class = void>
  ClientCore(const RpcClientOptions& options, Instant now, const Nonce& nonce = {})
      : options_{options},
        slots_{options.max_calls},
        reader_{greeting_limits},
        opened_{now},
        heard_{now},
        pinged_{now} {
    Greeting greeting;
    greeting.limits = options.limits;
    greeting.service = options.service;
    handshake_ = std::make_unique<ClientHandshake>(greeting, options.secret, nonce);
    handshake_->greet(front());
  }

  /// Begins a call; returns its id, of which the low half is a slot: no two calls that are not over have the same one.
  /// `head` is copied, and so is a body that nobody keeps; others are shared until they are written.
  auto call(std::uint32_t method, ByteView head, const FrameBody& body, std::optional<Instant> deadline, Instant now,
            ByteView metadata = {}) -> std::uint64_t {
    const std::uint64_t id = slots_.take();
    if (reason_ || closing_ || no_more_) return refuse(id, rpc_errc::closed);
    const bool is_full = slots_.used() > slots_.most() || queue_.queued_bytes() > options_.owed_bytes;
    if (is_full) return refuse(id, rpc_errc::exhausted);
    if (deadline && *deadline <= now) return refuse(id, rpc_errc::deadline_passed);
    if (!peer_.allow(request_prefix_bytes + metadata.size() + head.size(), body.bytes().size()))
      return refuse(id, rpc_errc::too_large);
    detail::CallSlot& slot = slots_.of(id);
    slot.batch = queue_.batch();
    slot.number = ++requests_;
    const std::uint64_t prefix = std::uint64_t{milliseconds_left(deadline, now)} | std::uint64_t{metadata.size()} << 32;
    queue_.add({FrameKind::request, 0, method, 0, id, 0}, {bytes_of(prefix), metadata, head}, body);
    if (deadline) deadlines_.set(static_cast<std::uint32_t>(id), *deadline);
    return id;
  }

  /// A large body of the reply comes in chunks: `begun`, any number of `chunk`, `reply`. A small one comes with it.
  void take_in_chunks(std::uint64_t id) {
    if (slots_.active(id)) slots_.of(id).in_chunks = true;
  }

  /// One more item of a call that streams to the server. False: it was not taken, because the server has not asked for
  /// so many or the call is over. Try again after a `credit` event.
  template <class = void> auto item(std::uint64_t id, ByteView head, const FrameBody& body = {}) -> bool {
    if (slots_.active(id) && !peer_.allow(head.size(), body.bytes().size())) cancel(id, rpc_errc::too_large);
    if (!slots_.active(id) || !slots_.of(id).credit.send()) return false;
    queue_.add({FrameKind::item, 0, 0, 0, id, 0}, {{}, {}, head}, body);
    return true;
  }

  /// No more items: the answer may come.
  template <class = void> void end_items(std::uint64_t id) {
    if (slots_.active(id)) queue_.add({FrameKind::end, 0, 0, 0, id, 0});
  }

  /// An `item` was used up: the server may send another one in its place.
  template <class = void> void taken(std::uint64_t id) {
    if (!slots_.active(id)) return;
    const std::uint32_t more = slots_.of(id).credit.take();
    if (more == 0) return;
    queue_.add({FrameKind::credit, 0, 0, 0, id, 0}, {{}, {}, bytes_of(more)});
  }

  /// Takes a call back: it fails with `reason`, unless it is over.
  template <class = void> void cancel(std::uint64_t id, rpc_errc reason = rpc_errc::cancelled) {
    if (!slots_.active(id)) return;
    queue_.add({FrameKind::cancel, 0, 0, 0, id, 0});
    refuse(id, reason);
  }

  /// No more calls: `finished()` when those in flight are over.
  template <class = void> void close() {
    if (!std::exchange(closing_, true)) queue_.add({FrameKind::goodbye});
  }

  /// Gives the connection up: every call fails with `reason`, as when it was lost.
  template <class = void> void give_up(Error reason) {
    if (reason_) return;
    reason_ = std::move(reason);
  }

  /// Writes the next thing that has happened to `event`; false: nothing more. What it points to is valid until the core
  /// is asked for anything else.
  template <class = void> [[nodiscard]] auto next(Instant now, ClientEvent& event) -> bool {
    event.body = {};  // its memory may be wanted for the next one
    expire(now);
    Frame frame;
    while (true) {
      if (!failed_.empty()) {
        auto [id, error] = std::move(failed_.front());
        failed_.pop_front();
        return fail(event, id, std::move(error));
      }
      if (reason_) return fail_one(event);
      if (!reader_.next(frame, [this](const FrameHeader& header) { return wants_chunks(header); })) {
        if (reader_.error()) give_up({reader_.error(), {}});
        progress_.look(reader_.in_frame(), std::exchange(came_whole_, false), now);
        if (!reason_) return false;
        continue;
      }
      came_whole_ |= frame.is_last();
      if (take(frame, event)) return true;
    }
  }

  // --- ConnectionCore ---

  [[nodiscard]] auto reads() const -> bool { return !finished() && !reader_.error(); }
  [[nodiscard]] auto read_space(std::span<std::byte> lent) -> ReadSpace { return reader_.read_space(lent); }
  void bytes_read(std::size_t count, Instant now) {
    reader_.bytes_read(count);
    progress_.read(count);
    heard_ = pinged_ = now;
  }
  void keep() { reader_.keep(); }
  [[nodiscard]] auto ready() const -> bool { return !failed_.empty(); }  // refused at once, or taken back
  [[nodiscard]] auto output() -> const std::vector<FrameBody>& { return front().output(); }
  template <class = void> void written(Instant) {
    front().written();
    if (greeted_ && handshake_ && handshake_->queue().queued_bytes() == 0) handshake_.reset();
  }
  [[nodiscard]] auto wake() const -> std::optional<Instant> {
    if (finished()) return std::nullopt;
    Instant first = std::min({silent_at(), ping_or_greeting_at(), release_at()});
    if (const auto deadline = deadlines_.wake()) first = std::min(first, *deadline);
    return first;
  }
  template <class = void> void woken(Instant now) {
    if (finished()) return;
    if (now >= release_at()) reader_.release_memory();
    if (now >= silent_at()) return give_up({rpc_errc::silent, {}});
    if (now < ping_or_greeting_at()) return;
    if (!greeted_) return give_up({rpc_errc::silent, "no greeting"});
    pinged_ = now;
    queue_.add({FrameKind::ping});
  }
  template <class = void> void lost(const std::error_code& reason) {
    give_up({rpc_errc::lost, reason ? reason.message() : "closed by the peer"});
  }
  [[nodiscard]] auto finished() const -> bool { return reason_ || (closing_ && slots_.used() == 0); }

  /// Why the connection ended; empty while it has not.
  [[nodiscard]] auto reason() const noexcept -> const Error& { return reason_; }

  /// Calls that are not over.
  [[nodiscard]] auto calls() const noexcept -> std::size_t { return slots_.used(); }

  /// Whether the server was heard of, and takes calls: neither end has said goodbye.
  [[nodiscard]] auto available() const noexcept -> bool { return greeted_ && !reason_ && !closing_ && !no_more_; }

  /// Whether one more call would be sent.
  [[nodiscard]] auto has_room() const noexcept -> bool { return available() && slots_.used() < slots_.most(); }

 private:
  struct Failed {
    std::uint64_t call;
    Error error;
  };

  [[nodiscard]] auto silent_at() const noexcept -> Instant {
    return std::min(instant_after(heard_, options_.silent_after),
                    instant_after(progress_.since(), options_.frame_within));
  }

  /// Where the next bytes to write come from: before the proof of a secret, from nowhere else than the handshake.
  [[nodiscard]] auto front() noexcept -> FrameQueue& {
    return handshake_ && handshake_->holds_back() ? handshake_->queue() : queue_;
  }

  /// When the server is asked for a sign of life, or its greeting is no longer waited for.
  [[nodiscard]] auto ping_or_greeting_at() const -> Instant {
    return greeted_ ? instant_after(pinged_, options_.ping_after) : instant_after(opened_, options_.greeting_within);
  }

  [[nodiscard]] auto release_at() const noexcept -> Instant {
    return reader_.keeps_memory() ? heard_ + memory_kept_for : Instant::max();
  }

  // 2^32 - 1: no deadline.
  static auto milliseconds_left(const std::optional<Instant>& deadline, Instant now) -> std::uint32_t {
    if (!deadline) return 0xffffffffU;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - now).count();
    return static_cast<std::uint32_t>(std::min<std::int64_t>(left, 0xfffffffe));
  }

  // The call ends by an event of its own.
  template <class = void> auto refuse(std::uint64_t id, Error error) -> std::uint64_t {
    slots_.of(id).active = false;
    failed_.push_back({id, std::move(error)});
    return id;
  }
  template <class = void>
  auto refuse(std::uint64_t id, rpc_errc code) -> std::uint64_t {
    return refuse(id, Error{code, {}});
  }

  template <class = void> auto fail(ClientEvent& event, std::uint64_t id, Error error) -> bool {
    end(event, id, ClientEvent::Kind::failed);
    event.error = std::move(error);
    return true;
  }

  template <class = void>
  auto end(ClientEvent& event, std::uint64_t id, ClientEvent::Kind kind, const Frame* frame = nullptr) -> bool {
    deadlines_.clear(static_cast<std::uint32_t>(id));
    slots_.give_back(id);
    return tell(event, kind, id, frame);
  }

  static auto tell(ClientEvent& event, ClientEvent::Kind kind, std::uint64_t id, const Frame* frame = nullptr) -> bool {
    event.kind = kind;
    event.call = id;
    event.head = frame != nullptr ? frame->head : ByteView{};
    if (frame != nullptr) event.body = frame->body;
    if (event.error) event.error = {};
    return true;
  }

  // The connection is over. What had not begun to be written was never sent; nor is it worth another try to a server
  // that knows another secret.
  template <class = void> auto fail_one(ClientEvent& event) -> bool {
    for (; failing_ < slots_.size(); ++failing_) {
      const std::uint64_t id = slots_.id_of(failing_);
      const detail::CallSlot& slot = slots_.of(id);
      if (!slot.active) continue;
      if (slot.number > begun_) return fail(event, id, {rpc_errc::closed, "the server has left"});
      // `closed` says as much as `not_sent`.
      const bool tell_why =
          slot.batch != queue_.batch() || reason_.code == rpc_errc::unauthorized || reason_.code == rpc_errc::closed;
      return fail(event, id, tell_why ? reason_ : Error{rpc_errc::not_sent, reason_.code.message()});
    }
    return false;
  }

  template <class = void> void expire(Instant now) {
    if (now == std::exchange(expired_, now)) return;
    while (const auto slot = deadlines_.expired(now)) cancel(slots_.id_of(*slot), rpc_errc::deadline_passed);
  }

  template <class = void> auto take(const Frame& frame, ClientEvent& event) -> bool {
    const std::uint64_t id = frame.header->call;
    if (frame.header->kind == FrameKind::error && id == 0) {
      give_up(decode_error(frame.head, options_.categories));
      return false;
    }
    if (!greeted_) return take_greeting(frame, event);
    switch (frame.header->kind) {
      case FrameKind::reply:
        if (frame.part == FramePart::begin || frame.part == FramePart::whole) begun_reply_ = slots_.active(id);
        return begun_reply_ && slots_.active(id) && take_reply(frame, event);  // else late: the call is over
      case FrameKind::error: return slots_.active(id) && fail(event, id, decode_error(frame.head, options_.categories));
      case FrameKind::end: return slots_.active(id) && end(event, id, ClientEvent::Kind::ended);
      case FrameKind::item: return slots_.active(id) && take_item(frame, event);
      case FrameKind::credit: return take_credit(frame, event);
      case FrameKind::ping: queue_.add({FrameKind::pong}); return false;
      case FrameKind::pong: return false;
      case FrameKind::goodbye:  // says how many requests had come: those behind them are not begun
        no_more_ = true;
        if (frame.head.size() == sizeof(begun_)) begun_ = load_le<std::uint64_t>(frame.head.data());
        return false;
      default: give_up({rpc_errc::protocol, {}}); return false;
    }
  }

  // What nobody waits for any more is passed over, and takes no memory.
  [[nodiscard]] auto wants_chunks(const FrameHeader& header) -> bool {
    return header.kind == FrameKind::reply && (!slots_.active(header.call) || slots_.of(header.call).in_chunks);
  }

  template <class = void> auto take_reply(const Frame& frame, ClientEvent& event) -> bool {
    const std::uint64_t id = frame.header->call;
    if (frame.part == FramePart::begin) return tell(event, ClientEvent::Kind::begun, id, &frame);
    if (frame.part == FramePart::chunk) return tell(event, ClientEvent::Kind::chunk, id, &frame);
    return end(event, id, ClientEvent::Kind::reply, &frame);
  }

  template <class = void> auto take_greeting(const Frame& frame, ClientEvent& event) -> bool {
    Greeting greeting;
    if (Error error = handshake_->take(frame, front(), greeting)) {
      give_up(std::move(error));
      return false;
    }
    greeted_ = true;
    if (!handshake_->holds_back()) handshake_.reset();  // else when the proof is written
    slots_.limit(greeting.max_calls);
    peer_ = greeting.limits;
    reader_.set_limits(options_.limits);
    return tell(event, ClientEvent::Kind::greeted, 0);
  }

  template <class = void> auto take_item(const Frame& frame, ClientEvent& event) -> bool {
    if (!slots_.of(frame.header->call).credit.receive()) {
      give_up({rpc_errc::protocol, "more items than were asked for"});
      return false;
    }
    return tell(event, ClientEvent::Kind::item, frame.header->call, &frame);
  }

  template <class = void> auto take_credit(const Frame& frame, ClientEvent& event) -> bool {
    const std::uint64_t id = frame.header->call;
    if (frame.head.size() != sizeof(std::uint32_t)) {
      give_up({rpc_errc::protocol, "a credit without a number"});
      return false;
    }
    return slots_.active(id) && slots_.of(id).credit.add(load_le<std::uint32_t>(frame.head.data())) &&
           tell(event, ClientEvent::Kind::credit, id);
  }

  RpcClientOptions options_;
  detail::CallSlots slots_;
  FrameReader reader_;
  FrameQueue queue_;
  Instant opened_;
  Instant heard_;  // when the last bytes came
  Instant pinged_;  // then, or when the last ping was sent
  FrameProgress progress_;
  FrameLimits peer_;  // what the server takes, as far as is known
  bool begun_reply_ = false;  // the last reply was for a call that was active when it began
  bool came_whole_ = false;  // frames have, since all was looked at
  std::unique_ptr<ClientHandshake> handshake_;  // until the greeting, or the proof of a secret, is written
  bool greeted_ = false;
  bool closing_ = false;
  bool no_more_ = false;  // the server said goodbye
  std::uint64_t requests_ = 0;
  std::uint64_t begun_ = std::numeric_limits<std::uint64_t>::max();  // no request behind this one will be
  Error reason_;
  std::uint32_t failing_ = 0;
  DeadlineWheel deadlines_;  // by slot
  Instant expired_;  // when they were last looked at
  std::deque<Failed> failed_;
};

static_assert(ConnectionCore<ClientCore>);

}  // namespace v0
}  // namespace distrib
