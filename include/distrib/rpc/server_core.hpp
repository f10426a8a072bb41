// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/protowire.hpp>
#include <distrib/net/connection_core.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/frame.hpp>
#include <distrib/rpc/frame_body.hpp>
#include <distrib/rpc/frame_queue.hpp>
#include <distrib/rpc/frame_reader.hpp>
#include <distrib/rpc/greeting.hpp>
#include <distrib/rpc/handshake.hpp>
#include <distrib/rpc/nonce.hpp>
#include <distrib/rpc/remote_error.hpp>
#include <distrib/rpc/shared_secret.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// How a server behaves on one connection.
struct RpcServerOptions {
  FrameLimits limits;                              ///< The largest frame that is taken.
  std::uint32_t services = 1;                      ///< Greetings may ask for services 0 .. services - 1.
  std::uint32_t max_calls = 1024;                  ///< Most calls in flight.
  std::size_t owed_bytes = std::size_t{64} << 20;  ///< When so much waits to be written, no more requests are read.
  std::chrono::milliseconds greeting_within{5'000};  ///< A peer that has not shown who it is by then is closed,
  std::chrono::milliseconds silent_after{60'000};    ///< and so is one that was silent for so long.
  SharedSecret secret;  ///< If there is one, clients prove that they have it, and are shown that the server does.
};

/// One thing that has happened on a server's connection.
struct ServerEvent {
  enum class Kind : std::uint8_t {
    greeted,    ///< The client has shown who it is and wants `service`.
    request,    ///< A call has begun: answer it once by `reply`, `fail`, or `item`s and `end`.
    cancelled,  ///< The answer of `call` is wanted no more; it is over.
    credit,     ///< `item` of `call` is taken again.
  };
  Kind kind{};
  std::uint64_t call = 0;
  std::uint32_t method = 0;         ///< Of `request`: `method_id` of its name.
  std::uint32_t service = 0;        ///< Of `greeted`.
  std::optional<Instant> deadline;  ///< Of `request`, on this machine's clock.
  ByteView metadata;                ///< Of `request`; with `head` and `body` valid until the core is asked for
  ByteView head;                    ///< anything else.
  FrameBody body;                   ///< Of `request`.
  std::uint32_t body_checksum = 0;  ///< CRC-32C of the body.
};

/// The server's end of a connection: requests in, answers out, by any order. Answers to calls that are over (cancelled,
/// connection lost) are passed over in silence.
///
/// A `ConnectionCore`; after each of its events take all that `next` has. It gives nothing, and reads nothing, while
/// more than `owed_bytes` wait to be written. Memory: what is queued, and 12 bytes a call. Threads: one at a time.
class ServerCore {
 public:
  /// `nonce`: drawn for this connection (`draw_nonce`). Throws `rpc_errc::unauthorized` for a secret without one.
  ServerCore(const RpcServerOptions& options, Instant now, const Nonce& nonce = {})
      : options_{options}, reader_{greeting_limits}, opened_{now}, heard_{now}, read_{now} {
    Greeting greeting;
    greeting.limits = options.limits;
    greeting.max_calls = options.max_calls;
    handshake_ = std::make_unique<ServerHandshake>(greeting, options.services, options.secret, nonce);
  }

  /// An empty writer for the head of an answer, good for one: its memory is kept from call to call.
  [[nodiscard]] auto writer() noexcept -> WireWriter& {
    answer_.clear();
    return answer_;
  }

  /// Answers a call, which is then over. `head` is copied, and so is a body that nobody keeps; others are shared until
  /// they are written. `checksum` is the body's CRC-32C, when it is known.
  void reply(std::uint64_t call, ByteView head, const FrameBody& body = {},
             std::optional<std::uint32_t> checksum = std::nullopt) {
    if (end(call)) queue_.add({FrameKind::reply, 0, 0, 0, call, 0}, {{}, {}, head}, body, checksum);
  }

  /// Refuses a call, which is then over. `where`: what people are told beside the code's message.
  void fail(std::uint64_t call, const std::error_code& code, std::string_view where = {}) {
    if (end(call)) add_error(call, code, where);
  }

  /// One more item of a streaming call. False: it was not taken, because the client has not asked for so many or the
  /// call is over. Try again after a `credit` event.
  auto item(std::uint64_t call, ByteView head, const FrameBody& body = {}) -> bool {
    if (!open(call)) return false;
    Slot& slot = slots_[static_cast<std::uint32_t>(call)];
    if (slot.credit == 0) {
      slot.refused = true;
      return false;
    }
    --slot.credit;
    queue_.add({FrameKind::item, 0, 0, 0, call, 0}, {{}, {}, head}, body);
    return true;
  }

  /// Ends a streaming call well.
  void end_stream(std::uint64_t call) {
    if (end(call)) queue_.add({FrameKind::end, 0, 0, 0, call, 0});
  }

  /// Takes no more calls and tells the client so; `finished()` when those in flight are answered.
  void drain() {
    if (handshake_) return refuse(rpc_errc::closed, {});  // a goodbye has no place before the greeting
    if (!std::exchange(draining_, true)) queue_.add({FrameKind::goodbye});
  }

  /// Ends the connection and tells the client why.
  void refuse(const std::error_code& code, std::string_view where) {
    if (reason_) return;
    add_error(0, code, where);
    reason_ = {code, std::string{where}};
  }

  /// Writes the next thing that has happened to `event`; false: nothing more. What it points to is valid until the core
  /// is asked for anything else.
  [[nodiscard]] auto next(Instant now, ServerEvent& event) -> bool {
    while (!finished()) {
      parked_ = owes_too_much() && reader_.has_rest();
      if (owes_too_much()) return false;
      const Frame* frame = reader_.next();
      if (frame == nullptr) {
        // A stranger gets no answer: he would not understand it.
        if (reader_.error() && handshake_) reason_ = {reader_.error(), {}};
        if (reader_.error()) refuse(reader_.error(), {});
        return false;
      }
      if (take(*frame, now, event)) return true;
    }
    return false;
  }

  // --- ConnectionCore ---

  [[nodiscard]] auto reads() const -> bool { return !finished() && !parked_ && !owes_too_much(); }
  [[nodiscard]] auto read_space(std::span<std::byte> lent) -> ReadSpace { return reader_.read_space(lent); }
  void bytes_read(std::size_t count, Instant now) {
    reader_.bytes_read(count);
    heard_ = read_ = now;
  }
  void keep() { reader_.keep(); }
  /// What was read and not taken, because too much was owed, can be taken now.
  [[nodiscard]] auto ready() const -> bool { return parked_ && !finished() && !owes_too_much(); }
  [[nodiscard]] auto output() -> std::span<const ByteView> { return queue_.output(); }
  void written(Instant now) {
    queue_.written();
    heard_ = now;  // somebody reads there
  }
  [[nodiscard]] auto wake() const -> std::optional<Instant> {
    if (finished()) return std::nullopt;
    return handshake_ ? opened_ + options_.greeting_within : heard_ + options_.silent_after;
  }
  void woken(Instant now) {
    if (finished() || now < *wake()) return;
    reason_ = {rpc_errc::silent, {}};
  }
  void lost(const std::error_code& reason) {
    if (!reason_) reason_ = {rpc_errc::lost, reason ? reason.message() : "closed by the peer"};
  }
  [[nodiscard]] auto finished() const -> bool { return reason_ || (draining_ && calls_ == 0); }

  /// Why the connection ended; empty while it has not.
  [[nodiscard]] auto reason() const noexcept -> const Error& { return reason_; }

  /// Calls that are not answered.
  [[nodiscard]] auto calls() const noexcept -> std::size_t { return calls_; }

 private:
  struct Slot {
    std::uint32_t generation = 0;
    std::uint32_t credit = 0;
    bool open = false;
    bool refused = false;  // an item was not taken
  };

  [[nodiscard]] auto owes_too_much() const noexcept -> bool { return queue_.queued_bytes() > options_.owed_bytes; }

  [[nodiscard]] auto open(std::uint64_t call) const -> bool {
    const auto slot = static_cast<std::uint32_t>(call);
    return !reason_ && slot < slots_.size() && slots_[slot].open && slots_[slot].generation == call >> 32;
  }

  auto end(std::uint64_t call) -> bool {
    if (!open(call)) return false;
    slots_[static_cast<std::uint32_t>(call)].open = false;
    --calls_;
    return true;
  }

  void add_error(std::uint64_t call, const std::error_code& code, std::string_view where) {
    encode_error(writer(), code, where);
    queue_.add({FrameKind::error, 0, 0, 0, call, 0}, {{}, {}, answer_.view()});
  }

  auto take(const Frame& frame, Instant now, ServerEvent& event) -> bool {
    if (handshake_) return take_greeting(frame, event);
    switch (frame.header.kind) {
      case FrameKind::request: return take_request(frame, now, event);
      case FrameKind::cancel:
        if (!end(frame.header.call)) return false;
        event = {};
        event.kind = ServerEvent::Kind::cancelled;
        event.call = frame.header.call;
        return true;
      case FrameKind::credit: return take_credit(frame, event);
      case FrameKind::ping: queue_.add({FrameKind::pong}); return false;
      case FrameKind::pong: return false;
      case FrameKind::goodbye: draining_ = true; return false;
      default: refuse(rpc_errc::protocol, {}); return false;
    }
  }

  auto take_greeting(const Frame& frame, ServerEvent& event) -> bool {
    if (frame.header.kind == FrameKind::error && frame.header.call == 0) {  // we have not proved who we are
      reason_ = decode_error(frame.head, {});
      return false;
    }
    if (const Error error = handshake_->take(frame, queue_)) {
      refuse(error.code, error.where);
      return false;
    }
    if (!handshake_->over()) return false;
    event = {};
    event.service = handshake_->service();
    handshake_.reset();
    reader_.set_limits(options_.limits);
    return true;
  }

  auto take_request(const Frame& frame, Instant now, ServerEvent& event) -> bool {
    const std::uint64_t call = frame.header.call;
    const auto slot = static_cast<std::uint32_t>(call);
    if (draining_) return refuse_call(call, rpc_errc::closed);
    if (slot >= options_.max_calls) return refuse_call(call, rpc_errc::exhausted);
    if (slot >= slots_.size()) slots_.resize(slot + 1);
    if (slots_[slot].open || call >> 32 == 0) {
      refuse(rpc_errc::protocol, "a call was begun twice");
      return false;
    }
    if (frame.head.size() < request_prefix_bytes) return refuse_call(call, rpc_errc::bad_message);
    const auto left = load_le<std::uint32_t>(frame.head.data());
    const auto metadata_bytes = load_le<std::uint32_t>(frame.head.data() + 4);
    const ByteView rest = frame.head.subspan(request_prefix_bytes);
    if (metadata_bytes > rest.size()) return refuse_call(call, rpc_errc::bad_message);
    const Instant deadline = read_ + std::chrono::milliseconds{left};  // may have waited here
    if (left != no_deadline && deadline <= now) return refuse_call(call, rpc_errc::deadline_passed);

    slots_[slot] = {static_cast<std::uint32_t>(call >> 32), initial_credit, true, false};
    ++calls_;
    event = {};
    event.kind = ServerEvent::Kind::request;
    event.call = call;
    event.method = frame.header.method;
    if (left != no_deadline) event.deadline = deadline;
    event.metadata = rest.first(metadata_bytes);
    event.head = rest.subspan(metadata_bytes);
    event.body = frame.body;
    event.body_checksum = frame.body_checksum;
    return true;
  }

  auto refuse_call(std::uint64_t call, rpc_errc code) -> bool {
    add_error(call, code, {});
    return false;
  }

  auto take_credit(const Frame& frame, ServerEvent& event) -> bool {
    if (frame.head.size() != sizeof(std::uint32_t)) {
      refuse(rpc_errc::protocol, "a credit without a number");
      return false;
    }
    if (!open(frame.header.call)) return false;
    Slot& slot = slots_[static_cast<std::uint32_t>(frame.header.call)];
    const auto more = load_le<std::uint32_t>(frame.head.data());
    slot.credit = more > most_credit - slot.credit ? most_credit : slot.credit + more;
    if (!std::exchange(slot.refused, false)) return false;
    event = {};
    event.kind = ServerEvent::Kind::credit;
    event.call = frame.header.call;
    return true;
  }

  static constexpr std::size_t request_prefix_bytes = 8;  // milliseconds left, bytes of metadata
  static constexpr std::uint32_t no_deadline = 0xffffffffU;
  static constexpr std::uint32_t most_credit = 1U << 20;

  RpcServerOptions options_;
  FrameReader reader_;
  FrameQueue queue_;
  Instant opened_;
  Instant heard_;  // when the last bytes came or went
  Instant read_;   // when the last bytes came
  bool parked_ = false;  // what was read waits until less is owed
  bool draining_ = false;
  std::unique_ptr<ServerHandshake> handshake_;  // until the client has shown who it is
  Error reason_;
  std::vector<Slot> slots_;
  std::size_t calls_ = 0;
  WireWriter answer_;
};

static_assert(ConnectionCore<ServerCore>);

}  // namespace distrib::inline v0
