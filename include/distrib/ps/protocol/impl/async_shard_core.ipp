// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/async_shard_core.hpp>

#include <algorithm>
#include <numeric>
#include <string>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL AsyncShardCore::AsyncShardCore(const Job& job, std::uint32_t shard, const JobUpdaters& updaters,
                                            std::uint64_t table_budget_bytes)
    : cut_interval_{job.cut_interval},
      has_open_end_{job.total_steps == open_end},
      consistency_{job.consistency},
      store_{job, shard, updaters, table_budget_bytes},
      awaited_{job, shard},
      applied_(job.rank_names()),
      at_{job.ranks},
      durable_(job.rank_names()),
      kept_(job.rank_names()) {
  if (job.most_ranks != 0) {
    rank_log_.emplace(job.ranks, job.most_ranks, can_scale_rates(job, updaters));
    places_.assign(job.most_ranks, end_of_job);
    retired_.assign(job.most_ranks, 0);
    total_ = job.total_steps;
    at_.clear();
  } else {
    for (Rank rank = 0; rank < job.ranks; ++rank) last_.push_back(job.steps_of(rank));
  }
}

DISTRIB_DECL AsyncShardCore::AsyncShardCore(const Job& job, std::uint32_t shard, const JobUpdaters& updaters,
                                            const Cut& newest, std::uint64_t table_budget_bytes)
    : AsyncShardCore{job, shard, updaters, table_budget_bytes} {
  store_.load(newest);
  awaited_.begin_at(newest.step);
  if (rank_log_) {
    begin_at(newest, job.ranks);
    return;
  }
  std::vector<Step> applied = newest.applied;
  // A cut of another number of ranks, in which all shards agree: divide its contributions equally among the ranks.
  if (applied.size() != job.ranks) {
    applied.clear();
    for (Rank rank = 0; rank < job.ranks; ++rank)
      applied.push_back(newest.step / job.ranks + (rank < newest.step % job.ranks ? 1 : 0));
  }
  begin_at(std::move(applied));
}

DISTRIB_DECL void AsyncShardCore::begin_at(std::vector<Step> applied) {
  applied_ = std::move(applied);
  durable_ = applied_;
  counted_ = saved_ = std::reduce(applied_.begin(), applied_.end());
  at_.clear();
  for (const Step step : applied_) at_.add(step);
}

DISTRIB_DECL void AsyncShardCore::begin_at(const Cut& cut, Rank began_with) {
  const std::vector<Step>& applied = cut.applied;
  if (applied.size() != applied_.size() + 1 || applied.back() != began_with)
    throw_error(ps_errc::job_mismatch,
                "an asynchronous job whose ranks change continues only with the same ranks and most_ranks as before: " +
                    std::to_string(began_with) + " and " + std::to_string(applied_.size()));
  applied_.assign(applied.begin(), applied.end() - 1);
  durable_ = applied_;
  counted_ = saved_ = cut.step;
  top_ = *std::max_element(applied_.begin(), applied_.end());
}

DISTRIB_DECL auto AsyncShardCore::hear(const Contribution& given) -> std::error_code {
  const RankEntry* const entry = given.entry.get();
  if (entry == nullptr || entry->from > given.step || !entry->has(given.rank)) return ps_errc::unknown_rank;
  if (!is_rank_entry(*entry, static_cast<Rank>(applied_.size())) && *entry != *rank_log_->first())
    return ps_errc::unknown_rank;
  const Step counted = applied_[given.rank];
  if (given.after >= given.step || (given.after < counted && counted < given.step)) return ps_errc::ranks_differ;
  rank_log_->hear(given.entry);
  return {};
}

DISTRIB_DECL void AsyncShardCore::place(Rank rank) {
  const Step next = seen_->next_step(applied_[rank], rank, total_);
  const Step at = next == 0 ? end_of_job : next - 1;
  const Step before = std::exchange(places_[rank], at);
  needs_others_ = needs_others_ || (before == end_of_job) != (at == end_of_job);
  if (before != end_of_job) at_.remove(before);
  if (at != end_of_job) at_.add(at);
}

DISTRIB_DECL auto AsyncShardCore::place_by_log() -> bool {
  if (rank_log_->log() == seen_) return false;
  const SharedRankLog before = std::exchange(seen_, rank_log_->log());
  for (Rank rank = 0; rank < places_.size(); ++rank) place(rank);
  return before != nullptr;
}

DISTRIB_DECL auto AsyncShardCore::needed_ranks() const -> std::vector<Rank> {
  std::vector<Rank> needed;
  for (Rank rank = 0; rank < applied_.size(); ++rank) {
    const bool may_send_again = applied_[rank] > retired_[rank];
    if (may_send_again || rank_log_->log()->next_step(applied_[rank], rank, total_) != 0) needed.push_back(rank);
  }
  return needed;
}

DISTRIB_DECL auto AsyncShardCore::all_said_goodbye() const -> bool {
  if (!rank_log_) return goodbyes_.size() == applied_.size();
  return std::ranges::all_of(rank_log_->log()->last_ranks(total_),
                             [this](Rank rank) { return goodbyes_.contains(rank); });
}

}  // namespace v0
}  // namespace distrib
