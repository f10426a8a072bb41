// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/net/instant.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace sim {

/// A simulated clock and what is to happen by it. Events of one instant happen in the order they were asked for, so a
/// run is a function of what is put in. Threads: one at a time.
class Scheduler {
 public:
  /// The present.
  [[nodiscard]] auto now() const noexcept -> Instant { return now_; }

  /// Lets `event` happen at `when`; what lies in the past happens next.
  void at(Instant when, std::function<void()> event) {
    scheduled_.push_back({std::max(when, now_), order_++, std::move(event)});
    std::push_heap(scheduled_.begin(), scheduled_.end(), later);
  }
  void after(Instant::duration time, std::function<void()> event) { at(now_ + time, std::move(event)); }

  /// Lets the next event happen. False: there is none.
  DISTRIB_DECL auto step() -> bool;

  /// Events that are still to happen.
  [[nodiscard]] auto waiting() const noexcept -> std::size_t { return scheduled_.size(); }

 private:
  struct Scheduled {
    Instant when;
    std::uint64_t order;
    std::function<void()> happens;
  };

  static auto later(const Scheduled& a, const Scheduled& b) noexcept -> bool {
    return a.when != b.when ? a.when > b.when : a.order > b.order;
  }

  Instant now_{std::chrono::hours{1}};  // not 0: a core must not take that for "never"
  std::uint64_t order_ = 0;
  std::vector<Scheduled> scheduled_;
};

}  // namespace sim
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sim/impl/scheduler.ipp>
#endif
