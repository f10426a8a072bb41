// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/connection_core.hpp>

#include <array>
#include <bit>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Deadlines of calls, at most one for each slot: set, cleared and found in a time that does not depend on how many
/// there are. They are kept by ticks of 4 ms: one passes up to a tick late, never early.
///
/// A wheel of 512 ticks (Varghese and Lauck, 1987, scheme 6): deadlines that are further away than it turns are looked
/// at once a turn. Memory: 24 bytes for the highest slot and each below, and 2 KiB once there was a deadline.
class DeadlineWheel {
 public:
  /// The deadline of a slot that has none.
  void set(std::uint32_t slot, Instant when) {
    if (wheel_ == nullptr) wheel_ = std::make_unique<Wheel>();
    if (nodes_.size() <= slot) nodes_.resize(slot + std::size_t{1});
    const std::int64_t at = ticks_up(when);
    if (count_ == 0 || at < next_) next_ = at;
    std::uint32_t& first = wheel_->first[bucket(at)];
    nodes_[slot] = {at, none, first};
    if (first != none) nodes_[first].before = slot;
    first = slot;
    wheel_->used[bucket(at) / 64] |= std::uint64_t{1} << bucket(at) % 64;
    ++count_;
  }

  /// The slot has no deadline any more, if it had one.
  void clear(std::uint32_t slot) noexcept {
    if (slot >= nodes_.size() || nodes_[slot].tick == never) return;
    const Node node = nodes_[slot];
    const std::size_t in = bucket(node.tick);
    (node.before != none ? nodes_[node.before].behind : wheel_->first[in]) = node.behind;
    if (node.behind != none) nodes_[node.behind].before = node.before;
    if (wheel_->first[in] == none) wheel_->used[in / 64] &= ~(std::uint64_t{1} << in % 64);
    nodes_[slot].tick = never;
    --count_;
  }

  /// When `expired` is to be asked at the latest; empty: never. May be early.
  [[nodiscard]] auto wake() const noexcept -> std::optional<Instant> {
    if (count_ == 0) return std::nullopt;
    return Instant{next_used() * tick};
  }

  /// A slot whose deadline has passed, which it then has no more; empty: there is none.
  [[nodiscard]] auto expired(Instant now) noexcept -> std::optional<std::uint32_t> {
    if (count_ == 0) return std::nullopt;
    const std::int64_t last = now.time_since_epoch() / tick;
    for (next_ = next_used(); next_ <= last; next_ = next_used()) {
      for (std::uint32_t slot = wheel_->first[bucket(next_)]; slot != none; slot = nodes_[slot].behind) {
        if (nodes_[slot].tick > last) continue;  // a turn later
        clear(slot);
        return slot;
      }
      ++next_;
      if (count_ == 0) break;
    }
    return std::nullopt;
  }

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
  [[nodiscard]] auto next_used() const noexcept -> std::int64_t {
    const std::size_t from = bucket(next_);
    for (std::size_t word = 0; word <= ticks / 64; ++word) {
      std::uint64_t bits = wheel_->used[(from / 64 + word) % (ticks / 64)];
      if (word == 0) bits &= ~std::uint64_t{0} << from % 64;
      if (bits == 0) continue;
      const std::size_t found = (from / 64 + word) * 64 + static_cast<std::size_t>(std::countr_zero(bits));
      return next_ + static_cast<std::int64_t>(found - from);
    }
    return next_;
  }

  std::unique_ptr<Wheel> wheel_;
  std::vector<Node> nodes_;  // by slot
  std::size_t count_ = 0;
  std::int64_t next_ = 0;  // no deadline is earlier
};

}  // namespace v0
}  // namespace distrib
