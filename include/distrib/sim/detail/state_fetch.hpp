// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/protowire.hpp>
#include <distrib/ps/cut/state_fetch_core.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/codec.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/sim/detail/link.hpp>
#include <distrib/sim/detail/world.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace sim::detail {

/// The shell of a `StateFetchCore` in simulated time, with its own connection to the other replica of a shard; in
/// production this is `ps/server/detail/state_fetch.hpp`. Calls back once with what was fetched; if it is destroyed
/// before, it does not call back. `Core` is `StateFetchCore`, or a class that a test derives from it.
template <class Core>
class StateFetch : public std::enable_shared_from_this<StateFetch<Core>> {
 public:
  /// Opens a connection to the other replica; `happened` is called when there is something for the client. Null: the
  /// other replica is down.
  using Open = std::function<LinkPointer(std::function<void()> happened)>;
  using Came = std::function<void(std::optional<Cut>)>;

  StateFetch(World& world, Open open, Core core, Came came)
      : world_{world}, open_{std::move(open)}, core_{std::move(core)}, came_{std::move(came)} {}
  StateFetch(const StateFetch&) = delete;
  auto operator=(const StateFetch&) -> StateFetch& = delete;
  ~StateFetch() { hang_up(); }

  void start() { core_.start(world_.now(), *this); }

  /// Returns its connection, or null if there is none.
  [[nodiscard]] auto link() const noexcept -> const LinkPointer& { return link_; }

  // --- actions of the core ---

  void operator()(ConnectToSibling action) {
    world_.scheduler.after(10 * world_.pause(), guarded([action](StateFetch& self) { self.connect(action); }));
  }
  void operator()(const AskSibling& action) {
    WireWriter head;
    const MessageBody body = RpcCodec<StateRequest>::encode(action.request, head);
    link_->client.call(State::id, head.view(), body.body, world_.now() + action.within, world_.now());
    link_->wire->flush();
    if (lost_) world_.scheduler.after({}, guarded(&StateFetch::happened));  // the network will not report anything more
  }
  void operator()(AskSiblingLater action) {
    world_.scheduler.at(action.at, guarded([](StateFetch& self) { self.core_.woken(self); }));
  }
  void operator()(StateFetched action) {
    const auto self = this->shared_from_this();
    hang_up();
    std::exchange(came_, {})(std::move(action.cut));
  }

 private:
  template <class Then>
  auto guarded(Then then) -> std::function<void()> {
    return [weak = this->weak_from_this(), then] {
      if (const auto self = weak.lock()) std::invoke(then, *self);
    };
  }

  void connect(ConnectToSibling action) {
    link_ = open_(guarded(&StateFetch::happened));
    if (link_ != nullptr) core_.connected(*this);
    else if (world_.now() < action.until) (*this)(action);
    else core_.not_connected(*this);
  }

  void happened() {
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

  void hang_up() {
    if (link_ == nullptr) return;
    link_->client_open = false;
    std::exchange(link_, nullptr)->wire->detach_a();
  }

  World& world_;
  Open open_;
  Core core_;
  Came came_;
  LinkPointer link_;
  bool lost_ = false;
};

}  // namespace sim::detail
}  // namespace v0
}  // namespace distrib
