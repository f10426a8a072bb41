// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/net/instant.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <span>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace sim {

/// A simulated clock, and the events that are scheduled. Events at one instant happen in the order in which they were
/// scheduled, so a run depends only on its input.
///
/// Threads: one at a time.
class Scheduler {
 public:
  /// Returns the simulated time.
  [[nodiscard]] auto now() const noexcept -> Instant { return now_; }

  /// Schedules `event` for `when`; a time in the past counts as now.
  void at(Instant when, std::function<void()> event) {
    scheduled_.push_back({std::max(when, now_), order_++, std::move(event)});
    std::push_heap(scheduled_.begin(), scheduled_.end(), later);
  }
  /// Schedules `event` for `time` after now.
  void after(Instant::duration time, std::function<void()> event) { at(now_ + time, std::move(event)); }

  /// Advances the clock to the next event and calls it. Returns false if there is none.
  DISTRIB_DECL auto step() -> bool;

  /// Returns memory that an event may use until it ends; the next event may overwrite it. So all connections share it.
  [[nodiscard]] auto scratch(std::size_t bytes) -> std::span<std::byte> {
    if (scratch_.size() < bytes) scratch_.resize(bytes);
    return std::span{scratch_}.first(bytes);
  }

  /// Returns how many events are still to happen.
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

  Instant now_{std::chrono::hours{1}};  // not 0, which a core might take for "never"
  std::uint64_t order_ = 0;
  std::vector<Scheduled> scheduled_;
  std::vector<std::byte> scratch_;
};

}  // namespace sim
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sim/impl/scheduler.ipp>
#endif
