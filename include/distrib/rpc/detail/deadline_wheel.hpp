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

/// Deadlines of calls, at most one for each slot: set, cleared and found in a time that does not depend on how many
/// there are. They are kept by ticks of 4 ms: one passes up to a tick late, never early.
///
/// A wheel of 512 ticks (Varghese and Lauck, 1987, scheme 6): deadlines that are further away than it turns are looked
/// at once a turn. Memory: 24 bytes for the highest slot and each below, and 2 KiB once there was a deadline.
class DeadlineWheel {
 public:
  /// The deadline of a slot that has none.
  DISTRIB_DECL void set(std::uint32_t slot, Instant when);

  /// The slot has no deadline any more, if it had one.
  DISTRIB_DECL void clear(std::uint32_t slot) noexcept;

  /// When `expired` is to be asked at the latest; empty: never. May be early.
  [[nodiscard]] auto wake() const noexcept -> std::optional<Instant> {
    if (count_ == 0) return std::nullopt;
    return Instant{next_used() * tick};
  }

  /// A slot whose deadline has passed, which it then has no more; empty: there is none.
  [[nodiscard]] DISTRIB_DECL auto expired(Instant now) noexcept -> std::optional<std::uint32_t>;

 private:
  static constexpr std::chrono::steady_clock::duration tick = std::chrono::milliseconds{4};
  static constexpr std::size_t ticks = 512;
  static constexpr std::uint32_t none = std::numeric_limits<std::uint32_t>::max();
  static constexpr std::int64_t never = std::numeric_limits<std::int64_t>::max();

  struct Node {
    std::int64_t tick = never;
    std::uint32_t before = none;  // in the list of the bucket
    std::uint32_t behind = none;
  };
  struct Wheel {
    Wheel() { first.fill(none); }
    std::array<std::uint32_t, ticks> first;
    std::array<std::uint64_t, ticks / 64> used{};  // which lists are not empty
  };

  static auto ticks_up(Instant when) noexcept -> std::int64_t {
    const auto since = when.time_since_epoch();
    return since / tick + (since % tick > tick.zero() ? 1 : 0);
  }
  static constexpr auto bucket(std::int64_t at) noexcept -> std::size_t { return static_cast<std::size_t>(at) % ticks; }

  /// The first tick from `next_` on whose list is not empty; there is one.
  [[nodiscard]] DISTRIB_DECL auto next_used() const noexcept -> std::int64_t;

  std::unique_ptr<Wheel> wheel_;
  std::vector<Node> nodes_;  // by slot
  std::size_t count_ = 0;
  std::int64_t next_ = 0;  // no deadline is earlier
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/rpc/detail/impl/deadline_wheel.ipp>
#endif
