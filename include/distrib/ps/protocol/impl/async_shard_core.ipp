// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/async_shard_core.hpp>

#include <numeric>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL AsyncShardCore::AsyncShardCore(const Job& job, std::uint32_t shard, const JobUpdaters& updaters,
                                            std::uint64_t table_budget_bytes)
    : cut_interval_{job.cut_interval},
      has_open_end_{job.total_steps == open_end},
      consistency_{job.consistency},
      store_{job, shard, updaters, table_budget_bytes},
      awaited_{job, shard},
      applied_(job.ranks),
      at_{job.ranks},
      durable_(job.ranks),
      kept_(job.ranks) {
  for (Rank rank = 0; rank < job.ranks; ++rank) last_.push_back(job.steps_of(rank));
}

DISTRIB_DECL AsyncShardCore::AsyncShardCore(const Job& job, std::uint32_t shard, const JobUpdaters& updaters,
                                            const Cut& newest, std::uint64_t table_budget_bytes)
    : AsyncShardCore{job, shard, updaters, table_budget_bytes} {
  store_.load(newest);
  std::vector<Step> applied = newest.applied;
  // A cut of another number of ranks, in which all shards agree: divide its contributions equally among the ranks.
  if (applied.size() != job.ranks) {
    applied.clear();
    for (Rank rank = 0; rank < job.ranks; ++rank)
      applied.push_back(newest.step / job.ranks + (rank < newest.step % job.ranks ? 1 : 0));
  }
  begin_at(std::move(applied));
  awaited_.begin_at(newest.step);
}

DISTRIB_DECL void AsyncShardCore::begin_at(std::vector<Step> applied) {
  applied_ = std::move(applied);
  durable_ = applied_;
  counted_ = std::reduce(applied_.begin(), applied_.end());
  at_.clear();
  for (const Step step : applied_) at_.add(step);
}

}  // namespace v0
}  // namespace distrib
