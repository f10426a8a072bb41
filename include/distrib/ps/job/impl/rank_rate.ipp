// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/rank_rate.hpp>

#include <distrib/core/rounded.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto RankRate::at(Step gone) const noexcept -> double {
  if (gone >= steps) return to;
  using Real = detail::Rounded<double>;
  const Real begin{from};
  const Real way = Real{to} - begin;
  return (begin + way * Real{static_cast<double>(gone)} / Real{static_cast<double>(steps)}).value;
}

DISTRIB_DECL auto is_rank_rate(const RankRate& rate) noexcept -> bool {
  const auto is_good = [](double factor) { return factor >= 1 / max_rank_rate && factor <= max_rank_rate; };  // no NaN
  return is_good(rate.from) && is_good(rate.to) && rate.steps <= max_warm_up &&
         (rate.steps == 0) == (rate.from == rate.to);
}

}  // namespace v0
}  // namespace distrib
