// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/cut_interval.hpp>

#include <distrib/ps/job/shard_layout.hpp>

#include <algorithm>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto cut_interval(const Job& job, std::uint64_t keep_every, std::size_t replay_budget_bytes)
    -> std::uint64_t {
  std::size_t step_bytes = 1;
  for (std::uint32_t shard = 0; shard < job.shards(); ++shard)
    step_bytes += ShardLayout{job, shard}.gradient_block_bytes();
  const std::uint64_t own = std::max<std::uint64_t>(1, replay_budget_bytes / 2 / step_bytes);
  const std::uint64_t most = std::min(job.consistency.is_synchronous() ? own : own * job.ranks, job.total_steps);
  if (keep_every == 0) return std::max<std::uint64_t>(1, most);
  std::uint64_t best = 1;
  for (std::uint64_t divisor = 1; divisor <= keep_every / divisor; ++divisor) {
    if (keep_every % divisor != 0) continue;
    if (divisor <= most) best = std::max(best, divisor);
    if (keep_every / divisor <= most) best = std::max(best, keep_every / divisor);
  }
  return best;
}

}  // namespace v0
}  // namespace distrib
