// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace distrib {
inline namespace v0 {

/// A point in time, as cores use it: they get it with each event, and only compare it and add to it.
using Instant = std::chrono::steady_clock::time_point;

/// Returns the instant `time` after `begin`. Returns `Instant::max()`, which means "never", if `time` is a century or
/// more, or if `begin` is less than a century before `Instant::max()`; so callers may pass `milliseconds::max()` for
/// "without a limit".
[[nodiscard]] constexpr auto instant_after(Instant begin, std::chrono::milliseconds time) noexcept -> Instant {
  constexpr std::chrono::milliseconds century{100LL * 365 * 24 * 3'600'000};
  return time < century && begin < Instant::max() - century ? begin + time : Instant::max();
}

}  // namespace v0
}  // namespace distrib
