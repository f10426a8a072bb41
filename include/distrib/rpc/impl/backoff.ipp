// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/backoff.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto Backoff::failed(Instant now) noexcept -> Instant {
  pause_ = std::clamp(2 * pause_, first_, longest_);
  const std::chrono::microseconds half = std::chrono::microseconds{pause_} / 2;
  const auto spread = static_cast<std::int64_t>(static_cast<double>(half.count()) * double{uniform01(random_())});
  return std::max(now, begun_ + half + std::chrono::microseconds{spread});
}

}  // namespace v0
}  // namespace distrib
