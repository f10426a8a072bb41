// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/net/instant.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The deadlines of calls, at most one for each slot. The time to set, clear or find a deadline does not depend on how
/// many deadlines exist. Deadlines are rounded up to ticks of 4 ms: each expires at most one tick late, never early.
///
/// It is a timing wheel of 512 ticks (Varghese and Lauck, 1987, scheme 6): a deadline that is further away than one
/// turn is looked at once in each turn.
///
/// Memory: a `Node` for each slot up to the highest slot that ever had a deadline; the `Wheel` (about 2 KiB) from the
/// first deadline on.
class DeadlineWheel {
 public:
  /// Sets the deadline of a slot that has none.
  DISTRIB_DECL void set(std::uint32_t slot, Instant when);

  /// Removes the deadline of a slot, if it has one.
  DISTRIB_DECL void clear(std::uint32_t slot) noexcept;

  /// Returns when `expired` must be called at the latest, which may be before the first deadline; empty if there is no
  /// deadline.
  [[nodiscard]] auto wake() const noexcept -> std::optional<Instant> {
    if (count_ == 0) return std::nullopt;
    return Instant{next_used() * tick};
  }

  /// Returns a slot whose deadline has passed, and removes that deadline; empty if no deadline has passed. Call it
  /// until it returns an empty result.
  [[nodiscard]] DISTRIB_DECL auto expired(Instant now) noexcept -> std::optional<std::uint32_t>;

 private:
  static constexpr std::chrono::steady_clock::duration tick = std::chrono::milliseconds{4};
  static constexpr std::size_t ticks = 512;
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  struct Node {
    std::int64_t tick = never;
    std::uint32_t before = none;  // the slot before this one in the list of the bucket
    std::uint32_t behind = none;  // the slot after this one
  };
  struct Wheel {
    Wheel() { first.fill(none); }
    std::array<std::uint32_t, ticks> first;  // the first slot in the list of each bucket
    std::array<std::uint64_t, ticks / 64> used{};  // one bit for each bucket: its list is not empty
  };

  static auto ticks_up(Instant when) noexcept -> std::int64_t {
    const auto since = when.time_since_epoch();
    return since / tick + (since % tick > tick.zero() ? 1 : 0);
  }
  static constexpr auto bucket(std::int64_t at) noexcept -> std::size_t { return static_cast<std::size_t>(at) % ticks; }

  /// Returns the first tick from `next_` on whose list is not empty. There must be a deadline.
  [[nodiscard]] DISTRIB_DECL auto next_used() const noexcept -> std::int64_t;

  std::unique_ptr<Wheel> wheel_;
  std::vector<Node> nodes_;  // by slot
  std::size_t count_ = 0;
  std::int64_t next_ = 0;  // a tick; no deadline is earlier
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/detail/impl/deadline_wheel.ipp>
#endif
