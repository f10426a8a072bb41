// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sim/detail/state_fetch.hpp>

#include <distrib/core/protowire.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/codec.hpp>
#include <distrib/rpc/error.hpp>

namespace distrib {
inline namespace v0 {
namespace sim {
namespace detail {

DISTRIB_DECL void StateFetch::operator()(const AskSibling& action) {
  WireWriter head;
  const MessageBody body = RpcCodec<StateRequest>::encode(action.request, head);
  link_->client.call(State::id, head.view(), body.body, world_.now() + action.within, world_.now());
  link_->wire->flush();
  if (lost_) world_.scheduler.after({}, guarded(&StateFetch::happened));  // the network tells nothing any more
}

DISTRIB_DECL void StateFetch::connect(ConnectToSibling action) {
  link_ = open_(guarded(&StateFetch::happened));
  if (link_ != nullptr) core_.connected(*this);
  else if (world_.now() < action.until) (*this)(action);
  else core_.not_connected(*this);
}

DISTRIB_DECL void StateFetch::happened() {
  const LinkPointer link = link_;
  if (link == nullptr) return;
  for (ClientEvent event; link_ == link && link->client.next(world_.now(), event);) {
    if (event.kind == ClientEvent::Kind::failed) core_.failed(event.error.code, world_.now(), *this);
    if (event.kind != ClientEvent::Kind::reply) continue;
    StateReply reply;
    if (distrib::detail::decode_message({event.head, event.body}, reply)) core_.answered(reply, *this);
    else core_.failed(rpc_errc::bad_message, world_.now(), *this);
  }
  if (link_ != link) return;
  link->wire->flush();
  lost_ = link->client.finished();
}

}  // namespace detail
}  // namespace sim
}  // namespace v0
}  // namespace distrib
