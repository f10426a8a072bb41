// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/connection_core.hpp>
#include <distrib/net/error.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/rpc/client_event.hpp>
#include <distrib/rpc/client_options.hpp>
#include <distrib/rpc/detail/call_slots.hpp>
#include <distrib/rpc/detail/deadline_wheel.hpp>
#include <distrib/rpc/detail/frame_progress.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/frame.hpp>
#include <distrib/rpc/frame_body.hpp>
#include <distrib/rpc/frame_limits.hpp>
#include <distrib/rpc/frame_queue.hpp>
#include <distrib/rpc/frame_reader.hpp>
#include <distrib/rpc/handshake.hpp>
#include <distrib/rpc/nonce.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <limits>
#include <memory>
#include <optional>
#include <span>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// The client's end of a connection: sends calls and receives answers, in any order. Every call ends by exactly one
/// event, also if the connection is lost, a deadline passes or the call is refused at once. No event occurs inside
/// `call`.
///
/// It is a `ConnectionCore`: after each of its events call `next` until that returns false.
///
/// Memory: the queued frames, and for the largest number of calls that were in flight at once: a slot
/// (`detail::CallSlot`) and its entry in the list of free slots, and for deadlines an entry of the
/// `detail::DeadlineWheel` and the wheel itself (about 2 KiB). Further calls that are sent allocate nothing.
///
/// Threads: one at a time.
class ClientCore {
 public:
  /// Starts by queueing the greeting. `nonce`: drawn for this connection by `draw_nonce`; needed only with a secret.
  /// `binding`: of the connection, if it is secure.
  /// Throws `rpc_errc::unauthorized` for a secret without a nonce.
  DISTRIB_DECL ClientCore(const RpcClientOptions& options, Instant now, const Nonce& nonce = {},
                          const ChannelBinding& binding = {});

  /// Starts a call and returns its id. The low half of the id is a slot number, which differs between all calls that
  /// are not over. Never fails directly: a call that cannot be sent ends by a `failed` event, with `closed`,
  /// `exhausted`, `deadline_passed` (also for a deadline that is not after `now`) or `too_large`.
  ///
  /// Copies `head` and `metadata`. A body without an owner is copied; a body with an owner may be shared until it is
  /// written. `deadline`: empty for none.
  DISTRIB_DECL auto call(std::uint32_t method, ByteView head, const FrameBody& body, std::optional<Instant> deadline,
                         Instant now, ByteView metadata = {}) -> std::uint64_t;

  /// Asks for a large body (over 4 KiB) of the reply in chunks: events `begun`, any number of `chunk`, `reply`. A small
  /// body arrives with `reply`. Call it directly after `call`. Does nothing if the call is over.
  void take_in_chunks(std::uint64_t id) {
    if (slots_.active(id)) slots_.of(id).in_chunks = true;
  }

  /// Sends one more item of a call that streams to the server. Returns false if the item was not sent: the server has
  /// granted no credit (retry after a `credit` event), or the call is over. An item that is too large for the server
  /// ends the call with `too_large`.
  DISTRIB_DECL auto item(std::uint64_t id, ByteView head, const FrameBody& body = {}) -> bool;

  /// Tells the server that no more items of this call follow.
  void end_items(std::uint64_t id) {
    if (slots_.active(id)) queue_.add({FrameKind::end, 0, 0, 0, id, 0});
  }

  /// Reports that an item of an `item` event has been used: the server may send another item.
  DISTRIB_DECL void taken(std::uint64_t id);

  /// Cancels a call: it fails with `reason`, and the server gets a cancel frame. Does nothing if the call is over.
  void cancel(std::uint64_t id, rpc_errc reason = rpc_errc::cancelled) {
    if (!slots_.active(id)) return;
    queue_.add({FrameKind::cancel, 0, 0, 0, id, 0});
    refuse(id, reason);
  }

  /// Accepts no more calls, and tells the server. `finished()` becomes true when the calls in flight are over.
  void close() {
    if (!std::exchange(closing_, true)) queue_.add({FrameKind::goodbye});
  }

  /// Ends the connection: every call fails with `reason`. Two exceptions: a call that the server will not start,
  /// according to its goodbye, fails with `closed`; a call whose request had not begun to be written fails with
  /// `not_sent`, unless the reason is `closed`, `unauthorized`, or a refusal by TLS. Only the first reason counts.
  void give_up(Error reason) {
    if (reason_) return;
    reason_ = std::move(reason);
  }

  /// Writes the next event to `event`; returns false if there is none. What the event points to is valid until the next
  /// call of the core.
  [[nodiscard]] DISTRIB_DECL auto next(Instant now, ClientEvent& event) -> bool;

  // --- ConnectionCore ---

  [[nodiscard]] auto reads() const -> bool { return !finished() && !reader_.error(); }
  [[nodiscard]] auto read_space(std::span<std::byte> lent) -> ReadSpace { return reader_.read_space(lent); }
  void bytes_read(std::size_t count, Instant now) {
    reader_.bytes_read(count);
    progress_.read(count);
    heard_ = pinged_ = now;
  }
  void keep() { reader_.keep(); }
  [[nodiscard]] auto ready() const -> bool { return !failed_.empty(); }  // calls that were refused at once or cancelled
  [[nodiscard]] auto output() -> const std::vector<FrameBody>& { return front().output(); }
  void written(Instant) {
    front().written();
    if (greeted_ && handshake_ && handshake_->queue().queued_bytes() == 0) handshake_.reset();
  }
  [[nodiscard]] DISTRIB_DECL auto wake() const -> std::optional<Instant>;
  DISTRIB_DECL void woken(Instant now);
  /// Before the greeting the reason of a peer that refuses this end keeps its code: connecting again would not help.
  void lost(const std::error_code& reason) {
    if (!greeted_ && detail::is_tls_refusal(reason)) return give_up({reason, {}});
    give_up({rpc_errc::lost, reason ? reason.message() : "closed by the peer"});
  }
  /// True if a part of a frame has arrived, and the rest has not.
  [[nodiscard]] auto receives() const noexcept -> bool { return reader_.in_frame(); }
  [[nodiscard]] auto finished() const -> bool { return reason_ || (closing_ && slots_.used() == 0); }

  /// Returns why the connection has ended; empty while it has not ended, and if it ended as planned: after `close`,
  /// when all calls were over.
  [[nodiscard]] auto reason() const noexcept -> const Error& { return reason_; }

  /// Returns the number of calls that are not over.
  [[nodiscard]] auto calls() const noexcept -> std::size_t { return slots_.used(); }

  /// True if the server has answered the greeting and calls are accepted: the connection has not ended, and neither end
  /// has sent a goodbye.
  [[nodiscard]] auto available() const noexcept -> bool { return greeted_ && !reason_ && !closing_ && !no_more_; }

  /// True if the connection is `available` and fewer calls are in flight than client and server allow.
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

  /// Returns the queue from which the next bytes are written: with a secret, the queue of the handshake until the proof
  /// is written.
  [[nodiscard]] auto front() noexcept -> FrameQueue& {
    return handshake_ && handshake_->holds_back() ? handshake_->queue() : queue_;
  }

  /// Returns when the next ping is due; before the greeting, when the wait for it ends.
  [[nodiscard]] auto ping_or_greeting_at() const -> Instant {
    return greeted_ ? instant_after(pinged_, options_.ping_after) : instant_after(opened_, options_.greeting_within);
  }

  [[nodiscard]] auto release_at() const noexcept -> Instant {
    return reader_.keeps_memory() ? heard_ + memory_kept_for : Instant::max();
  }

  // Returns 2^32 - 1 if there is no deadline.
  static auto milliseconds_left(const std::optional<Instant>& deadline, Instant now) -> std::uint32_t {
    if (!deadline) return 0xffffffffU;
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(*deadline - now).count();
    return static_cast<std::uint32_t>(std::min<std::int64_t>(left, 0xfffffffe));
  }

  // Ends a call by a `failed` event, which `next` returns later.
  auto refuse(std::uint64_t id, Error error) -> std::uint64_t {
    slots_.of(id).active = false;
    failed_.push_back({id, std::move(error)});
    return id;
  }
  auto refuse(std::uint64_t id, rpc_errc code) -> std::uint64_t { return refuse(id, Error{code, {}}); }

  auto fail(ClientEvent& event, std::uint64_t id, Error error) -> bool {
    end(event, id, ClientEvent::Kind::failed);
    event.error = std::move(error);
    return true;
  }

  auto end(ClientEvent& event, std::uint64_t id, ClientEvent::Kind kind, const Frame* frame = nullptr) -> bool {
    deadlines_.clear(static_cast<std::uint32_t>(id));
    slots_.give_back(id);
    return tell(event, kind, id, frame);
  }

  DISTRIB_DECL static auto tell(ClientEvent& event, ClientEvent::Kind kind, std::uint64_t id,
                                const Frame* frame = nullptr) -> bool;

  // Fails one call after the connection has ended; false: none is left. A call whose batch had not begun to be written
  // was not sent. It fails with `not_sent`, so that it may be repeated; but not after `unauthorized`, because another
  // attempt would fail as well.
  DISTRIB_DECL auto fail_one(ClientEvent& event) -> bool;

  void expire(Instant now) {
    if (now == std::exchange(expired_, now)) return;
    while (const auto slot = deadlines_.expired(now)) cancel(slots_.id_of(*slot), rpc_errc::deadline_passed);
  }

  DISTRIB_DECL auto take(const Frame& frame, ClientEvent& event) -> bool;

  // Also true for the reply of a call that is over: it is skipped chunk by chunk and takes no memory.
  [[nodiscard]] auto wants_chunks(const FrameHeader& header) -> bool {
    return header.kind == FrameKind::reply && (!slots_.active(header.call) || slots_.of(header.call).in_chunks);
  }

  DISTRIB_DECL auto take_reply(const Frame& frame, ClientEvent& event) -> bool;

  DISTRIB_DECL auto take_greeting(const Frame& frame, ClientEvent& event) -> bool;

  auto take_item(const Frame& frame, ClientEvent& event) -> bool {
    if (!slots_.of(frame.header->call).credit.receive()) {
      give_up({rpc_errc::protocol, "more items than the credit allows"});
      return false;
    }
    return tell(event, ClientEvent::Kind::item, frame.header->call, &frame);
  }

  DISTRIB_DECL auto take_credit(const Frame& frame, ClientEvent& event) -> bool;

  RpcClientOptions options_;
  detail::CallSlots slots_;
  FrameReader reader_;
  FrameQueue queue_;
  Instant opened_;
  Instant heard_;  // when the last bytes arrived
  Instant pinged_;  // when the last ping was sent or the last bytes arrived, whichever is later
  detail::FrameProgress progress_;
  FrameLimits peer_;  // what the server accepts; the defaults until its greeting
  bool begun_reply_ = false;  // the call of the last reply was active when that reply began
  bool came_whole_ = false;  // a frame became complete since the last `progress_.look`
  std::unique_ptr<ClientHandshake> handshake_;  // until the server's greeting; with a secret until the proof is written
  bool greeted_ = false;
  bool closing_ = false;
  bool no_more_ = false;  // the server sent a goodbye
  std::uint64_t requests_ = 0;  // requests that were queued
  // The number of the last request that the server starts, from its goodbye.
  std::uint64_t begun_ = std::numeric_limits<std::uint64_t>::max();
  Error reason_;
  std::uint32_t failing_ = 0;  // the first slot that `fail_one` has not failed yet
  detail::DeadlineWheel deadlines_;  // by slot
  Instant expired_;  // when the deadlines were checked last
  std::deque<Failed> failed_;
};

static_assert(ConnectionCore<ClientCore>);

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/impl/client_core.ipp>
#endif
