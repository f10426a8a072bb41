// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/server_core.hpp>

#include <distrib/core/error.hpp>
#include <distrib/net/error.hpp>
#include <distrib/rpc/detail/stream_credit.hpp>
#include <distrib/rpc/greeting.hpp>

#include <array>

namespace distrib {
inline namespace v0 {
namespace detail {

/// True if the bytes are the beginning of a TLS handshake.
DISTRIB_DECL auto begins_tls(ByteView bytes) noexcept -> bool {
  return bytes.size() >= 2 && bytes[0] == std::byte{0x16} && bytes[1] == std::byte{0x03};
}

}  // namespace detail

DISTRIB_DECL ServerCore::ServerCore(std::shared_ptr<ServerBudget> budget, Instant now, const Nonce& nonce,
                                    const ChannelBinding& binding)
    : share_{std::move(budget)}, reader_{greeting_limits}, heard_{now}, read_{now} {
  Greeting greeting;
  greeting.limits = share_.options().limits;
  greeting.max_calls = share_.options().max_calls;
  handshake_ =
      std::make_unique<ServerHandshake>(greeting, share_.options().services, share_.options().secret, nonce, binding);
}

DISTRIB_DECL auto ServerCore::item(std::uint64_t call, ByteView head, const FrameBody& body) -> bool {
  if (!allows(head, body)) fail(call, rpc_errc::too_large);
  detail::ServerCall* const begun = open(call);
  if (begun == nullptr || !begun->credit.send()) return false;
  queue({FrameKind::item, 0, 0, 0, call, 0}, head, body);
  return true;
}

DISTRIB_DECL void ServerCore::taken(std::uint64_t call, std::size_t bytes) {
  detail::ServerCall* const begun = open(call);
  if (begun == nullptr) return;
  begun->held -= bytes;
  share_.release(bytes);
  if (const std::uint32_t more = begun->credit.take(); more != 0)
    queue({FrameKind::credit, 0, 0, 0, call, 0}, detail::bytes_of(more));
}

DISTRIB_DECL auto ServerCore::next(Instant now, ServerEvent& event) -> bool {
  event.body = {};  // releases its memory, which the next body may reuse
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
      // Before the greeting an error is not answered: an unknown client might not understand the answer. But one that
      // speaks TLS is told in its own language that this server does not.
      if (reader_.error() && handshake_) reason_ = detail::begins_tls(reader_.rest()) ? refuse_tls() : reader_.error();
      if (reader_.error()) refuse(reader_.error(), {});
      progress_.look(reader_.in_frame(), std::exchange(came_whole_, false), now);
      return false;
    }
    came_whole_ |= frame.is_last();
    if (take(frame, now, event)) return true;
  }
  return false;
}

DISTRIB_DECL void ServerCore::bytes_read(std::size_t count, Instant now) {
  reader_.bytes_read(count);
  progress_.read(count);
  read_ = now;
  if (!handshake_) heard_ = now;
}

DISTRIB_DECL void ServerCore::written(Instant now) {
  queue_.written();
  if (requests_ == 0) queue_.release();  // a client that has not called yet costs little memory
  share_.owe(queue_.queued_bytes());
  if (!handshake_) heard_ = now;  // the client reads, so it is not silent
}

DISTRIB_DECL void ServerCore::woken(Instant now) {
  if (finished()) return;
  // the server itself was full: this time does not count as silence of the client
  if (now >= look_again_) heard_ = now;
  if (now >= release_at()) reader_.release_memory();
  if (now >= silent_at()) reason_ = rpc_errc::silent;
  if (now >= drain_by_) refuse(rpc_errc::lost, "the server ended before the answer");
}

DISTRIB_DECL auto ServerCore::end(std::uint64_t call) -> bool {
  detail::ServerCall* const begun = open(call);
  if (begun == nullptr) return false;
  begun->open = false;
  share_.end(begun->held);
  return true;
}

DISTRIB_DECL auto ServerCore::tell(ServerEvent& event, ServerEvent::Kind kind, std::uint64_t call) const -> bool {
  event.kind = kind;
  event.call = call;
  event.arrived = read_;
  event.method = event.service = event.body_bytes = event.body_checksum = 0;
  event.deadline = never;
  event.metadata = {};
  event.head = {};
  return true;
}

DISTRIB_DECL auto ServerCore::take(const Frame& frame, Instant now, ServerEvent& event) -> bool {
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

DISTRIB_DECL auto ServerCore::refuse_tls() -> std::error_code {
  // A record of TLS: alert, version, 2 bytes; fatal, unexpected_message.
  constexpr std::array<std::uint8_t, 7> alert{0x15, 0x03, 0x03, 0, 2, 2, 10};
  queue_.add_bytes(std::as_bytes(std::span{alert}));
  return net_errc::no_tls;
}

DISTRIB_DECL auto ServerCore::take_greeting(const Frame& frame, ServerEvent& event) -> bool {
  if (frame.header->kind == FrameKind::error && frame.header->call == 0) {  // the client does not accept our proof
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

DISTRIB_DECL auto ServerCore::take_request(const Frame& frame, Instant now, ServerEvent& event) -> bool {
  const std::uint64_t call = frame.header->call;
  ++requests_;
  if (draining_) return refuse_call(call, rpc_errc::closed);
  if (static_cast<std::uint32_t>(call) >= share_.options().max_calls || !share_.has_calls())
    return refuse_call(call, rpc_errc::exhausted);
  detail::ServerCall* const slot = calls_.slot_for(call);
  if (slot == nullptr) return refuse_peer("a call whose id is invalid or in use");
  if (frame.head.size() < request_prefix_bytes) return refuse_call(call, rpc_errc::bad_message);
  const auto left = load_le<std::uint32_t>(frame.head.data());
  const auto metadata_bytes = load_le<std::uint32_t>(frame.head.data() + 4);
  const ByteView rest = frame.head.subspan(request_prefix_bytes);
  if (metadata_bytes > rest.size()) return refuse_call(call, rpc_errc::bad_message);
  const Instant deadline = read_ + std::chrono::milliseconds{left};  // not from `now`: the request may have waited here
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

DISTRIB_DECL auto ServerCore::take_part(const Frame& frame, ServerEvent& event) -> bool {
  detail::ServerCall* const call = begun_ ? open(frame.header->call) : nullptr;
  if (call == nullptr) return false;
  tell(event, frame.is_last() ? ServerEvent::Kind::body_end : ServerEvent::Kind::chunk, frame.header->call);
  event.body = frame.body;
  if (!frame.is_last()) return true;
  event.body_checksum = frame.body_checksum;
  hold(*call, frame.header->head_bytes);  // not earlier: over `held_bytes` the rest of the body would not be read
  return true;
}

DISTRIB_DECL auto ServerCore::take_item(const Frame& frame, ServerEvent& event) -> bool {
  detail::ServerCall* const call = open(frame.header->call);
  if (call == nullptr) return false;
  if (call->ended) return refuse_peer("an item after the end");
  if (!call->credit.receive()) return refuse_peer("more items than the credit allows");
  hold(*call, frame.head.size() + frame.body.bytes().size());
  tell(event, ServerEvent::Kind::item, frame.header->call);
  event.head = frame.head;
  event.body = frame.body;
  return true;
}

DISTRIB_DECL auto ServerCore::take_credit(const Frame& frame, ServerEvent& event) -> bool {
  if (frame.head.size() != sizeof(std::uint32_t)) return refuse_peer("a credit without its number of items");
  const auto more = load_le<std::uint32_t>(frame.head.data());
  detail::ServerCall* const call = open(frame.header->call);
  return call != nullptr && call->credit.add(more) && tell(event, ServerEvent::Kind::credit, frame.header->call);
}

}  // namespace v0
}  // namespace distrib
