// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <optional>

namespace distrib {
inline namespace v0 {

/// How many requests may be under way at once. There is no limit until the store asks for fewer: that halves the number
/// that are under way, at most once a second; each second without it allows one more, until there is no limit again.
/// Reads no clock.
///
/// Threads: one at a time.
class RequestPace {
 public:
  using Time = std::chrono::steady_clock::time_point;
  static constexpr std::size_t unlimited_from = 64;  ///< A limit that has grown to this is no limit any more.

  /// True if one more request may begin; then call `begun`.
  [[nodiscard]] auto may_begin(Time now) const -> bool {
    if (!slowed_) return true;
    const auto grown = static_cast<std::size_t>(std::chrono::floor<std::chrono::seconds>(now - *slowed_).count());
    const std::size_t allowed = limit_ + std::min(grown, unlimited_from);
    return allowed >= unlimited_from || under_way_ < allowed;
  }
  void begun() noexcept { ++under_way_; }
  void ended() noexcept { --under_way_; }

  /// Called when the store asks for fewer requests; the request that it refused is still under way.
  void slow_down(Time now) {
    if (slowed_ && now - *slowed_ < std::chrono::seconds{1}) return;
    limit_ = std::max<std::size_t>(under_way_ / 2, 1);
    slowed_ = now;
  }

 private:
  std::size_t under_way_ = 0;
  std::size_t limit_ = 0;
  std::optional<Time> slowed_;
};

}  // namespace v0
}  // namespace distrib
