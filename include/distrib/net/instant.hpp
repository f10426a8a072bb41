// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace distrib {
inline namespace v0 {

/// Time as cores know it: handed in with each event, only ever compared and added to.
using Instant = std::chrono::steady_clock::time_point;

/// So long after an instant. A century and more is for ever, `Instant::max()`, and so is what comes after that: such sums
/// are not representable, and people write `milliseconds::max()`.
[[nodiscard]] constexpr auto instant_after(Instant begin, std::chrono::milliseconds time) noexcept -> Instant {
  constexpr std::chrono::milliseconds century{100LL * 365 * 24 * 3'600'000};
  return time < century && begin < Instant::max() - century ? begin + time : Instant::max();
}

}  // namespace v0
}  // namespace distrib
