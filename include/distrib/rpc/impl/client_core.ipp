// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/client_core.hpp>

#include <distrib/rpc/greeting.hpp>
#include <distrib/rpc/remote_error.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL ClientCore::ClientCore(const RpcClientOptions& options, Instant now, const Nonce& nonce,
                                    const ChannelBinding& binding)
    : options_{options}, slots_{options.max_calls}, reader_{greeting_limits}, opened_{now}, heard_{now}, pinged_{now} {
  Greeting greeting;
  greeting.limits = options.limits;
  greeting.service = options.service;
  handshake_ = std::make_unique<ClientHandshake>(greeting, options.secret, nonce, binding);
  handshake_->greet(front());
}

DISTRIB_DECL auto ClientCore::call(std::uint32_t method, ByteView head, const FrameBody& body,
                                   std::optional<Instant> deadline, Instant now, ByteView metadata) -> std::uint64_t {
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
  queue_.add({FrameKind::request, 0, method, 0, id, 0}, {detail::bytes_of(prefix), metadata, head}, body);
  if (deadline) deadlines_.set(static_cast<std::uint32_t>(id), *deadline);
  return id;
}

DISTRIB_DECL auto ClientCore::item(std::uint64_t id, ByteView head, const FrameBody& body) -> bool {
  if (slots_.active(id) && !peer_.allow(head.size(), body.bytes().size())) cancel(id, rpc_errc::too_large);
  if (!slots_.active(id) || !slots_.of(id).credit.send()) return false;
  queue_.add({FrameKind::item, 0, 0, 0, id, 0}, {{}, {}, head}, body);
  return true;
}

DISTRIB_DECL void ClientCore::taken(std::uint64_t id) {
  if (!slots_.active(id)) return;
  const std::uint32_t more = slots_.of(id).credit.take();
  if (more == 0) return;
  queue_.add({FrameKind::credit, 0, 0, 0, id, 0}, {{}, {}, detail::bytes_of(more)});
}

DISTRIB_DECL auto ClientCore::next(Instant now, ClientEvent& event) -> bool {
  event.body = {};  // releases its memory, which the next body may reuse
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

DISTRIB_DECL auto ClientCore::wake() const -> std::optional<Instant> {
  if (finished()) return std::nullopt;
  Instant first = std::min({silent_at(), ping_or_greeting_at(), release_at()});
  if (const auto deadline = deadlines_.wake()) first = std::min(first, *deadline);
  return first;
}

DISTRIB_DECL void ClientCore::woken(Instant now) {
  if (finished()) return;
  if (now >= release_at()) reader_.release_memory();
  if (now >= silent_at()) return give_up({rpc_errc::silent, {}});
  if (now < ping_or_greeting_at()) return;
  if (!greeted_) return give_up({rpc_errc::silent, "no greeting"});
  pinged_ = now;
  queue_.add({FrameKind::ping});
}

DISTRIB_DECL auto ClientCore::tell(ClientEvent& event, ClientEvent::Kind kind, std::uint64_t id, const Frame* frame)
    -> bool {
  event.kind = kind;
  event.call = id;
  event.head = frame != nullptr ? frame->head : ByteView{};
  if (frame != nullptr) event.body = frame->body;
  if (event.error) event.error = {};
  return true;
}

DISTRIB_DECL auto ClientCore::fail_one(ClientEvent& event) -> bool {
  for (; failing_ < slots_.size(); ++failing_) {
    const std::uint64_t id = slots_.id_of(failing_);
    const detail::CallSlot& slot = slots_.of(id);
    if (!slot.active) continue;
    if (slot.number > begun_) return fail(event, id, {rpc_errc::closed, "the server accepts no more calls"});
    // `closed` tells the caller as much as `not_sent`: the call was not carried out.
    const bool tell_why = slot.batch != queue_.batch() || reason_.code == rpc_errc::unauthorized ||
                          reason_.code == rpc_errc::closed || detail::is_tls_refusal(reason_.code);
    return fail(event, id, tell_why ? reason_ : Error{rpc_errc::not_sent, reason_.code.message()});
  }
  return false;
}

DISTRIB_DECL auto ClientCore::take(const Frame& frame, ClientEvent& event) -> bool {
  const std::uint64_t id = frame.header->call;
  if (frame.header->kind == FrameKind::error && id == 0) {
    give_up(decode_error(frame.head, options_.categories));
    return false;
  }
  if (!greeted_) return take_greeting(frame, event);
  switch (frame.header->kind) {
    case FrameKind::reply:
      if (frame.part == FramePart::begin || frame.part == FramePart::whole) begun_reply_ = slots_.active(id);
      return begun_reply_ && slots_.active(id) && take_reply(frame, event);  // otherwise too late: the call is over
    case FrameKind::error: return slots_.active(id) && fail(event, id, decode_error(frame.head, options_.categories));
    case FrameKind::end: return slots_.active(id) && end(event, id, ClientEvent::Kind::ended);
    case FrameKind::item: return slots_.active(id) && take_item(frame, event);
    case FrameKind::credit: return take_credit(frame, event);
    case FrameKind::ping: queue_.add({FrameKind::pong}); return false;
    case FrameKind::pong: return false;
    case FrameKind::goodbye:  // its head says how many requests had arrived; later requests are not started
      no_more_ = true;
      if (frame.head.size() == sizeof(begun_)) begun_ = load_le<std::uint64_t>(frame.head.data());
      return false;
    default: give_up({rpc_errc::protocol, {}}); return false;
  }
}

DISTRIB_DECL auto ClientCore::take_reply(const Frame& frame, ClientEvent& event) -> bool {
  const std::uint64_t id = frame.header->call;
  if (frame.part == FramePart::begin) return tell(event, ClientEvent::Kind::begun, id, &frame);
  if (frame.part == FramePart::chunk) return tell(event, ClientEvent::Kind::chunk, id, &frame);
  return end(event, id, ClientEvent::Kind::reply, &frame);
}

DISTRIB_DECL auto ClientCore::take_greeting(const Frame& frame, ClientEvent& event) -> bool {
  Greeting greeting;
  if (Error error = handshake_->take(frame, front(), greeting)) {
    give_up(std::move(error));
    return false;
  }
  greeted_ = true;
  if (!handshake_->holds_back()) handshake_.reset();  // otherwise `written` does it, after the proof
  slots_.limit(greeting.max_calls);
  peer_ = greeting.limits;
  reader_.set_limits(options_.limits);
  return tell(event, ClientEvent::Kind::greeted, 0);
}

DISTRIB_DECL auto ClientCore::take_credit(const Frame& frame, ClientEvent& event) -> bool {
  const std::uint64_t id = frame.header->call;
  if (frame.head.size() != sizeof(std::uint32_t)) {
    give_up({rpc_errc::protocol, "a credit without its number of items"});
    return false;
  }
  return slots_.active(id) && slots_.of(id).credit.add(load_le<std::uint32_t>(frame.head.data())) &&
         tell(event, ClientEvent::Kind::credit, id);
}

}  // namespace v0
}  // namespace distrib
