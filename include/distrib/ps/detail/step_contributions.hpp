// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/messages.hpp>
#include <distrib/ps/shard_store.hpp>

#include <algorithm>
#include <utility>
#include <vector>

namespace distrib::inline v0::detail {

/// The contributions of one step that a synchronous shard holds, in rank order.
struct StepContributions {
  std::vector<Rank> ranks;
  std::vector<ReadContribution> read;

  /// False: it has one of this rank, or as many as count.
  auto store(Rank rank, ReadContribution given, Rank most) -> bool {
    const auto at = std::lower_bound(ranks.begin(), ranks.end(), rank);
    if (ranks.size() == most || (at != ranks.end() && *at == rank)) return false;
    read.insert(read.begin() + (at - ranks.begin()), std::move(given));
    ranks.insert(at, rank);
    return true;
  }
};

}  // namespace distrib::inline v0::detail
