// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/step.hpp>

#include <compare>

namespace distrib {
inline namespace v0 {

/// By what the learning rate that the schedule says for a step is multiplied, from the first step of a `RankEntry` on:
/// `from` in that step, then along a straight line, and `to` after `steps` more steps and from then on. A value.
struct RankRate {
  double from = 1;  ///< In the first step.
  double to = 1;  ///< After the warm-up.
  Step steps = 0;  ///< Of the warm-up; 0 if and only if `from` is `to`.

  /// Returns the factor in the step that is `gone` steps after the first one: from + (to - from) * gone / steps, in
  /// double, in this order; `to` if `gone` is `steps` or more. A pure function.
  [[nodiscard]] DISTRIB_DECL auto at(Step gone) const noexcept -> double;

  [[nodiscard]] auto operator<=>(const RankRate&) const = default;
};

/// Largest factor of a learning rate; the smallest one is 1 / `max_rank_rate`.
inline constexpr double max_rank_rate = 1e4;
/// Most steps of a warm-up.
inline constexpr Step max_warm_up = Step{1} << 40;

/// True if an entry may have it: the numbers are finite and within the limits, and there is a warm-up if and only if it
/// changes something. For what an unknown client says.
[[nodiscard]] DISTRIB_DECL auto is_rank_rate(const RankRate& rate) noexcept -> bool;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/rank_rate.ipp>
#endif
