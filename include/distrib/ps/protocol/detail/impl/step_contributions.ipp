// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/detail/step_contributions.hpp>

#include <algorithm>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto StepContributions::store(Rank rank, ReadContribution given, Rank most) -> bool {
  const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank);
  if (ranks.size() == most || (at != ranks.end() && *at == rank)) return false;
  read.insert(read.begin() + (at - ranks.begin()), std::move(given));
  ranks.insert(at, rank);
  return true;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
