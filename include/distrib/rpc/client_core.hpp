// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/connection_core.hpp>
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

/// The client's end of a connection: calls out, answers in, by any order. Every call ends by exactly one event, also
/// when the connection is lost, a deadline passes or the call is refused at once; never from inside `call`.
///
/// A `ConnectionCore`; after each of its events take all that `next` has. Memory: what is queued, 72 bytes for each
/// call that was ever in flight at once, and 2 KiB once there was a deadline; nothing is allocated for a further call.
/// Threads: one at a time.
class ClientCore {
 public:
  /// `nonce`: drawn for this connection (`draw_nonce`). Throws `rpc_errc::unauthorized` for a secret without one.
  DISTRIB_DECL ClientCore(const RpcClientOptions& options, Instant now, const Nonce& nonce = {});

  /// Begins a call; returns its id, of which the low half is a slot: no two calls that are not over have the same one.
  /// `head` is copied, and so is a body that nobody keeps; others are shared until they are written.
  DISTRIB_DECL auto call(std::uint32_t method, ByteView head, const FrameBody& body, std::optional<Instant> deadline,
                         Instant now, ByteView metadata = {}) -> std::uint64_t;

  /// A large body of the reply comes in chunks: `begun`, any number of `chunk`, `reply`. A small one comes with it.
  void take_in_chunks(std::uint64_t id) {
    if (slots_.active(id)) slots_.of(id).in_chunks = true;
  }

  /// One more item of a call that streams to the server. False: it was not taken, because the server has not asked for
  /// so many or the call is over. Try again after a `credit` event.
  DISTRIB_DECL auto item(std::uint64_t id, ByteView head, const FrameBody& body = {}) -> bool;

  /// No more items: the answer may come.
  void end_items(std::uint64_t id) {
    if (slots_.active(id)) queue_.add({FrameKind::end, 0, 0, 0, id, 0});
  }

  /// An `item` was used up: the server may send another one in its place.
  DISTRIB_DECL void taken(std::uint64_t id);

  /// Takes a call back: it fails with `reason`, unless it is over.
  void cancel(std::uint64_t id, rpc_errc reason = rpc_errc::cancelled) {
    if (!slots_.active(id)) return;
    queue_.add({FrameKind::cancel, 0, 0, 0, id, 0});
    refuse(id, reason);
  }

  /// No more calls: `finished()` when those in flight are over.
  void close() {
    if (!std::exchange(closing_, true)) queue_.add({FrameKind::goodbye});
  }

  /// Gives the connection up: every call fails with `reason`, as when it was lost.
  void give_up(Error reason) {
    if (reason_) return;
    reason_ = std::move(reason);
  }

  /// Writes the next thing that has happened to `event`; false: nothing more. What it points to is valid until the core
  /// is asked for anything else.
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
  [[nodiscard]] auto ready() const -> bool { return !failed_.empty(); }  // refused at once, or taken back
  [[nodiscard]] auto output() -> const std::vector<FrameBody>& { return front().output(); }
  void written(Instant) {
    front().written();
    if (greeted_ && handshake_ && handshake_->queue().queued_bytes() == 0) handshake_.reset();
  }
  [[nodiscard]] DISTRIB_DECL auto wake() const -> std::optional<Instant>;
  DISTRIB_DECL void woken(Instant now);
  void lost(const std::error_code& reason) {
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

  // The connection is over. What had not begun to be written was never sent; nor is it worth another try to a server
  // that knows another secret.
  DISTRIB_DECL auto fail_one(ClientEvent& event) -> bool;

  void expire(Instant now) {
    if (now == std::exchange(expired_, now)) return;
    while (const auto slot = deadlines_.expired(now)) cancel(slots_.id_of(*slot), rpc_errc::deadline_passed);
  }

  DISTRIB_DECL auto take(const Frame& frame, ClientEvent& event) -> bool;

  // What nobody waits for any more is passed over, and takes no memory.
  [[nodiscard]] auto wants_chunks(const FrameHeader& header) -> bool {
    return header.kind == FrameKind::reply && (!slots_.active(header.call) || slots_.of(header.call).in_chunks);
  }

  DISTRIB_DECL auto take_reply(const Frame& frame, ClientEvent& event) -> bool;

  DISTRIB_DECL auto take_greeting(const Frame& frame, ClientEvent& event) -> bool;

  auto take_item(const Frame& frame, ClientEvent& event) -> bool {
    if (!slots_.of(frame.header->call).credit.receive()) {
      give_up({rpc_errc::protocol, "more items than were asked for"});
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
  Instant heard_;  // when the last bytes came
  Instant pinged_;  // then, or when the last ping was sent
  detail::FrameProgress progress_;
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
  detail::DeadlineWheel deadlines_;  // by slot
  Instant expired_;  // when they were last looked at
  std::deque<Failed> failed_;
};

static_assert(ConnectionCore<ClientCore>);

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/impl/client_core.ipp>
#endif
