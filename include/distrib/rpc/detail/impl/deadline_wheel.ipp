// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/detail/deadline_wheel.hpp>

#include <bit>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void DeadlineWheel::set(std::uint32_t slot, Instant when) {
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

DISTRIB_DECL void DeadlineWheel::clear(std::uint32_t slot) noexcept {
  if (slot >= nodes_.size() || nodes_[slot].tick == never) return;
  const Node node = nodes_[slot];
  const std::size_t in = bucket(node.tick);
  (node.before != none ? nodes_[node.before].behind : wheel_->first[in]) = node.behind;
  if (node.behind != none) nodes_[node.behind].before = node.before;
  if (wheel_->first[in] == none) wheel_->used[in / 64] &= ~(std::uint64_t{1} << in % 64);
  nodes_[slot].tick = never;
  --count_;
}

DISTRIB_DECL auto DeadlineWheel::expired(Instant now) noexcept -> std::optional<std::uint32_t> {
  if (count_ == 0) return std::nullopt;
  const std::int64_t last = now.time_since_epoch() / tick;
  for (next_ = next_used(); next_ <= last; next_ = next_used()) {
    for (std::uint32_t slot = wheel_->first[bucket(next_)]; slot != none; slot = nodes_[slot].behind) {
      if (nodes_[slot].tick > last) continue;  // due in a later turn
      clear(slot);
      return slot;
    }
    ++next_;
    if (count_ == 0) break;
  }
  return std::nullopt;
}

DISTRIB_DECL auto DeadlineWheel::next_used() const noexcept -> std::int64_t {
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

}  // namespace detail
}  // namespace v0
}  // namespace distrib
