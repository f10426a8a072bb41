// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/cut/state_fetch_core.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/sim/detail/link.hpp>
#include <distrib/sim/detail/world.hpp>

#include <functional>
#include <memory>
#include <optional>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace sim::detail {

/// The shell of a `StateFetchCore` in simulated time, as `ps/server/detail/state_fetch.hpp` is in production: a
/// connection of its own to the other replica of a shard. Calls back once with what was fetched; dropped it calls
/// nothing.
class StateFetch : public std::enable_shared_from_this<StateFetch> {
 public:
  /// Opens a connection to the other replica, which calls when there is something for its client; null: that is down.
  using Open = std::function<LinkPointer(std::function<void()> happened)>;
  using Came = std::function<void(std::optional<Cut>)>;

  StateFetch(World& world, Open open, StateFetchCore core, Came came)
      : world_{world}, open_{std::move(open)}, core_{std::move(core)}, came_{std::move(came)} {}
  StateFetch(const StateFetch&) = delete;
  auto operator=(const StateFetch&) -> StateFetch& = delete;
  ~StateFetch() { hang_up(); }

  void start() { core_.start(world_.now(), *this); }

  /// Its connection; null: there is none.
  [[nodiscard]] auto link() const noexcept -> const LinkPointer& { return link_; }

  // --- what the core tells ---

  void operator()(ConnectToSibling action) {
    world_.scheduler.after(10 * world_.pause(), guarded([action](StateFetch& self) { self.connect(action); }));
  }
  DISTRIB_DECL void operator()(const AskSibling& action);
  void operator()(AskSiblingLater action) {
    world_.scheduler.at(action.at, guarded([](StateFetch& self) { self.core_.woken(self); }));
  }
  void operator()(StateFetched action) {
    const auto self = shared_from_this();
    hang_up();
    std::exchange(came_, {})(std::move(action.cut));
  }

 private:
  template <class Then>
  auto guarded(Then then) -> std::function<void()> {
    return [weak = weak_from_this(), then] {
      if (const auto self = weak.lock()) std::invoke(then, *self);
    };
  }

  DISTRIB_DECL void connect(ConnectToSibling action);

  DISTRIB_DECL void happened();

  void hang_up() {
    if (link_ == nullptr) return;
    link_->client_open = false;
    std::exchange(link_, nullptr)->wire->detach_a();
  }

  World& world_;
  Open open_;
  StateFetchCore core_;
  Came came_;
  LinkPointer link_;
  bool lost_ = false;
};

}  // namespace sim::detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sim/detail/impl/state_fetch.ipp>
#endif
