// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>

namespace distrib {
inline namespace v0 {

/// A point in time, as cores use it: they get it with each event, and only compare it and add to it.
using Instant = std::chrono::steady_clock::time_point;

namespace detail {

inline constexpr std::chrono::milliseconds century{100LL * 365 * 24 * 3'600'000};

/// Returns `time`, rounded up, at least minus a century and at most a century: any clock can count that far, in any
/// unit, and a sum of several such times cannot overflow.
template <class Rep, class Period>
[[nodiscard]] constexpr auto bounded_time(std::chrono::duration<Rep, Period> time) noexcept
    -> std::chrono::milliseconds {
  const std::chrono::duration<double> seconds = time;  // overflows for no unit
  if (seconds >= century) return century;
  return seconds <= -century ? -century : std::chrono::ceil<std::chrono::milliseconds>(time);
}

}  // namespace detail

/// Returns the instant `time` after `begin`. Returns `Instant::max()`, which means "never", if `time` is a century or
/// more, or if `begin` is less than a century before `Instant::max()`; so callers may pass `milliseconds::max()` for
/// "without a limit". A time of less than minus a century counts as minus a century.
[[nodiscard]] constexpr auto instant_after(Instant begin, std::chrono::milliseconds time) noexcept -> Instant {
  const bool ends = time < detail::century && begin < Instant::max() - detail::century;
  return ends ? begin + detail::bounded_time(time) : Instant::max();
}

}  // namespace v0
}  // namespace distrib
