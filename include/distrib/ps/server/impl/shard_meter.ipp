// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/server/shard_meter.hpp>

#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/store/shard_store.hpp>

#include <algorithm>
#include <chrono>
#include <optional>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void ShardMeter::opened(const Job& job) {
  newest_.assign(job.rank_names(), 0);
  window_ = contribution_window(job);
  next_ = {};
  was_last_.resize(newest_.size());
  waited_.resize(newest_.size());
}

DISTRIB_DECL void ShardMeter::pushed(RankBlock ranks, Step step, Step done, std::size_t bytes) {
  ++pushes_;
  pushed_bytes_ += bytes;
  note(pushed_, arrived_);
  if (step > done + window_) return;
  bool is_new = false;
  for (Rank rank = ranks.first; rank < ranks.end(static_cast<Rank>(newest_.size())); ++rank) {
    is_new = is_new || newest_[rank] < step;
    newest_[rank] = std::max(newest_[rank], step);
  }
  if (!is_new || step != done + 1) return;
  if (next_.step != step) next_ = Arrivals{.step = step};
  ++next_.number;
  next_.before = std::exchange(next_.newest, arrived_);
}

DISTRIB_DECL void ShardMeter::completed(RankBlock ranks, Step step) {
  ++completions_;
  note(completed_, arrived_);
  if (ranks.first >= was_last_.size() || next_.step != step || next_.number < 2) return;
  ++was_last_[ranks.first];
  if (next_.before != Instant{}) waited_[ranks.first] += std::max(next_.newest - next_.before, Instant::duration{});
}

DISTRIB_DECL auto ShardMeter::describe(const ShardIdentity& identity, const std::optional<Job>& job,
                                       const ShardKind& kind, const AnyShard* core, Instant now) const -> ShardStatus {
  ShardStatus status;
  status.task = identity.task;
  status.shard = identity.shard;
  status.tasks = identity.tasks;
  status.ranks = identity.ranks;
  status.nonce = identity.nonce;
  status.uptime = std::chrono::floor<std::chrono::milliseconds>(std::max(now, began_) - began_);
  status.pushes = pushes_;
  status.pushed_bytes = pushed_bytes_;
  status.pulls = pulls_;
  status.pulled_bytes = pulled_bytes_;
  status.push_times = push_times_;
  status.pull_times = pull_times_;
  status.completions = completions_;
  status.completion_time = completion_time_;
  if (!job) return status;
  status.shards = job->shards_per_task * job->replicas;
  status.consistency = job->consistency.describe();
  status.total_steps = job->total_steps;
  status.arithmetic = job->arithmetic;
  if (core == nullptr) return status;
  status.open = true;
  describe_steps(*job, *core, now, status);
  describe_memory(kind.updaters, core->store().layout(), status);
  return status;
}

DISTRIB_DECL void ShardMeter::describe_steps(const Job& job, const AnyShard& core, Instant now,
                                             ShardStatus& status) const {
  const bool synchronous = job.consistency.is_synchronous();
  status.step = core.step();
  status.contributions = status.step * job.consistency.replicas_to_aggregate(job.ranks);
  status.stale = core.stale();
  status.waiting_bytes = core.waiting_bytes();
  status.most_waiting_bytes = core.most_waiting_bytes();
  if (synchronous && next_.step == status.step + 1 && next_.newest != Instant{})
    status.waits_for = std::max(now - next_.newest, Instant::duration{});
  std::optional<Step> slowest;
  Step fastest = 0;
  const Progress common = core.progress(0);
  status.no_values = common.no_values;
  status.no_room = common.no_room;
  // In a job whose ranks may change: those that make the next step; of an asynchronous job the one after the newest.
  const RankLog* const log = common.ranks.get();
  const Step next = std::min((synchronous ? status.step : core.rank_step()) + 1, job.total_steps);
  const RankEntry* const makers = log != nullptr ? log->entry_of(next).get() : nullptr;
  if (makers != nullptr && synchronous) status.contributions = log->contributions_through(status.step);
  if (makers != nullptr) status.rate_factor = makers->factor_of(next);
  for (Rank rank = 0; rank < job.rank_names(); ++rank) {
    const Progress progress = synchronous ? Progress{common.done, {}} : core.progress(rank);
    const Step last = synchronous ? std::max(progress.done, newest_[rank]) : progress.done;
    Step place = last;
    bool looks_on = makers != nullptr && !makers->has(rank);
    if (log != nullptr && !synchronous) {  // a rank may be far behind the newest step
      const Step its_next = log->next_step(last, rank, job.total_steps);
      looks_on = its_next == 0 || its_next > next;
      place = its_next == 0 ? last : its_next - 1;
    }
    if (!looks_on) slowest = std::min(slowest.value_or(place), place);
    if (!looks_on) fastest = std::max(fastest, place);
    status.of_ranks.push_back({rank, false, last, 0, looks_on, was_last_[rank], waited_[rank]});
  }
  status.newest_cut = synchronous ? (common.cuts.empty() ? 0 : common.cuts.back()) : core.saved();
  status.staleness = fastest - slowest.value_or(fastest);
}

DISTRIB_DECL void ShardMeter::describe_memory(const JobUpdaters& updaters, const ShardLayout& layout,
                                              ShardStatus& status) {
  status.value_bytes = layout.block_bytes();
  for (const ShardLayout::Group& group : layout.groups())
    status.slot_bytes += std::uint64_t{group.size_bytes} * updaters[group.updater].slots().size();
  const ShardLayout::Entry* before = nullptr;
  for (const ShardLayout::Entry& entry : layout.entries()) {
    // the parts of a variable follow each other
    const bool again = before != nullptr && before->variable == entry.variable;
    if (!again) ++status.variables;
    before = &entry;
    if (status.variables > ShardStatus::most_listed) continue;
    if (!again) status.of_variables.push_back({entry.name, 0});
    status.of_variables.back().bytes += entry.size_bytes;
  }
}

}  // namespace v0
}  // namespace distrib
