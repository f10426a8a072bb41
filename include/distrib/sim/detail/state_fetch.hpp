// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/protowire.hpp>
#include <distrib/net/connection_core.hpp>
#include <distrib/ps/cut_pieces.hpp>
#include <distrib/ps/error.hpp>
#include <distrib/ps/methods.hpp>
#include <distrib/ps/shard_action.hpp>
#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/codec.hpp>
#include <distrib/sim/detail/link.hpp>
#include <distrib/sim/detail/world.hpp>

#include <chrono>
#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace sim::detail {

/// Fetches a newer cut from the other replica of a shard: what `ps/detail/state_fetch.hpp` is in production. Tells what
/// came once; dropped it tells nothing.
class StateFetch : public std::enable_shared_from_this<StateFetch> {
 public:
  /// Opens a connection to the other replica, which calls when there is something for its client; null: that is down.
  using Open = std::function<LinkPointer(std::function<void()> happened)>;
  using Came = std::function<void(const Cut*)>;

  StateFetch(World& world, Open open, StateRequest request, CutAssembly assembly, Came came)
      : world_{world},
        open_{std::move(open)},
        request_{std::move(request)},
        assembly_{std::move(assembly)},
        came_{std::move(came)} {}
  StateFetch(const StateFetch&) = delete;
  auto operator=(const StateFetch&) -> StateFetch& = delete;
  ~StateFetch() { hang_up(); }

  void start() {
    world_.scheduler.after(10 * world_.pause(), [weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->look();
    });
  }

  /// Its connection; null: there is none.
  [[nodiscard]] auto link() const noexcept -> const LinkPointer& { return link_; }

 private:
  void look() {
    link_ = open_([weak = weak_from_this()] {
      if (const auto self = weak.lock()) self->happened();
    });
    if (link_ != nullptr) ask();
    else look_again();
  }
  void look_again() {
    hang_up();
    if (world_.now() < found_until_) start();
    else end(nullptr);
  }

  void ask() {
    WireWriter head;
    const MessageBody body = RpcCodec<StateRequest>::encode(request_, head);
    link_->client.call(State::id, head.view(), body.body, std::nullopt, world_.now());
    link_->wire->flush();
  }

  void happened() {
    if (link_ == nullptr) return;
    for (ClientEvent event; link_->client.next(world_.now(), event);) {
      if (event.kind == ClientEvent::Kind::failed)
        return event.error.code == ps_errc::not_joined ? look_again() : end(nullptr);
      if (event.kind != ClientEvent::Kind::reply) continue;
      StateReply reply;
      const bool good = distrib::detail::decode_message({event.head, event.body}, reply) && reply.step != 0;
      if (!good || !assembly_.take(reply)) return end(nullptr);
      if (assembly_.whole()) {
        const Cut cut = std::move(assembly_).finish();
        return end(&cut);
      }
      request_.at = assembly_.bytes();
      ask();
    }
    link_->wire->flush();
    if (link_->client.finished()) end(nullptr);
  }

  void end(const Cut* cut) {
    const auto self = shared_from_this();
    hang_up();
    std::exchange(came_, {})(cut);
  }
  void hang_up() {
    if (link_ == nullptr) return;
    link_->client_open = false;
    std::exchange(link_, nullptr)->wire->detach_a();
  }

  World& world_;
  Open open_;
  StateRequest request_;
  CutAssembly assembly_;
  Came came_;
  Instant found_until_ = world_.now() + std::chrono::seconds{2};
  LinkPointer link_;
};

}  // namespace sim::detail
}  // namespace v0
}  // namespace distrib
