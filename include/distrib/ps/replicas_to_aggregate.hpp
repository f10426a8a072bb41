// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/consistency.hpp>
#include <distrib/ps/job.hpp>
#include <distrib/ps/messages.hpp>

namespace distrib {
inline namespace v0 {

/// How many contributions complete a step of a synchronous job: as many as its consistency says, or those of all ranks.
/// With fewer than all, the other ranks are backup workers.
template <class = void> [[nodiscard]] auto replicas_to_aggregate(const Job& job) -> Rank {
  const auto kind = parse_consistency(job.consistency);
  if (!kind || kind->replicas_to_aggregate == 0 || kind->replicas_to_aggregate > job.ranks) return job.ranks;
  return kind->replicas_to_aggregate;
}

}  // namespace v0
}  // namespace distrib
