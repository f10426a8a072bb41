// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/connection_core.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/ps/server/shard_identity.hpp>
#include <distrib/ps/wire/shard_status.hpp>
#include <distrib/rpc/latency_histogram.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Counts what a shard does, and describes it. A value that reads no clock and changes nothing of the shard; an event
/// costs a few additions. How long calls took is known where a shell tells when they came and were answered, for which
/// it reads its clock once an event. Threads: one at a time.
class ShardMeter {
 public:
  template <class = void> explicit ShardMeter(Instant now) : began_{now} {}

  /// The shard of `job` begins, or goes to another step: of no rank it is known what is on its way.
  template <class = void> void opened(const Job& job) {
    newest_.assign(job.ranks, 0);
    window_ = contribution_window(job);
  }

  /// When the request came that the shard is given next.
  void arrived(Instant at) noexcept { arrived_ = at; }
  [[nodiscard]] auto arrived() const noexcept -> Instant { return arrived_; }

  /// Whether something was answered since `answered(now)`, which is to be told at the end of each such event.
  template <class = void>
  [[nodiscard]] auto has_answered() const noexcept -> bool {
    return !pushed_.empty() || !pulled_.empty();
  }
  template <class = void> void answered(Instant now) {
    for (const Instant came : pushed_) push_times_.add(now - came);
    for (const Instant came : pulled_) pull_times_.add(now - came);
    pushed_.clear();
    pulled_.clear();
  }

  /// A contribution of `bytes` was answered when the shard was at `done`. Steps that the shard does not take are not
  /// believed.
  template <class = void> void pushed(Rank rank, Step step, Step done, std::size_t bytes) {
    ++pushes_;
    pushed_bytes_ += bytes;
    note(pushed_, arrived_);
    if (rank < newest_.size() && step <= done + window_) newest_[rank] = std::max(newest_[rank], step);
  }
  /// A pull was answered with values of `bytes`. `came`: when it had.
  template <class = void> void pulled(std::size_t bytes, Instant came) {
    ++pulls_;
    pulled_bytes_ += bytes;
    note(pulled_, came);
  }

  /// How the shard `identity` is. `job`: when one is known; `core`: null until its cuts are read. Left to the caller:
  /// who is here, how many pulls are parked, the job's hash.
  template <class = void>
  [[nodiscard]] auto describe(const ShardIdentity& identity, const std::optional<Job>& job, const ShardKind& kind,
                              const AnyShard* core, Instant now) const -> ShardStatus {
    ShardStatus status;
    status.task = identity.task;
    status.shard = identity.shard;
    status.tasks = identity.tasks;
    status.ranks = identity.ranks;
    status.uptime = std::chrono::floor<std::chrono::milliseconds>(std::max(now, began_) - began_);
    status.pushes = pushes_;
    status.pushed_bytes = pushed_bytes_;
    status.pulls = pulls_;
    status.pulled_bytes = pulled_bytes_;
    status.push_times = push_times_;
    status.pull_times = pull_times_;
    if (!job) return status;
    status.shards = job->shards_per_task * job->replicas;
    status.consistency = job->consistency.describe();
    status.total_steps = job->total_steps;
    if (core == nullptr) return status;
    status.open = true;
    describe_steps(*job, *core, status);
    describe_memory(kind.updaters, core->store().layout(), status);
    return status;
  }

 private:
  // Of a shell that tells no times nothing is kept.
  template <class = void> static void note(std::vector<Instant>& list, Instant came) {
    if (came != Instant{}) list.push_back(came);
  }

  template <class = void>
  void describe_steps(const Job& job, const AnyShard& core, ShardStatus& status) const {
    const bool synchronous = job.consistency.is_synchronous();
    status.step = core.step();
    status.contributions = status.step * job.consistency.replicas_to_aggregate(job.ranks);
    status.stale = core.stale();
    Step slowest = 0;
    Step fastest = 0;
    const Progress common = core.progress(0);
    status.no_values = common.no_values;
    for (Rank rank = 0; rank < job.ranks; ++rank) {
      const Progress progress = synchronous ? Progress{common.done, {}} : core.progress(rank);
      const Step last = synchronous ? std::max(progress.done, newest_[rank]) : progress.done;
      slowest = rank == 0 ? last : std::min(slowest, last);
      fastest = std::max(fastest, last);
      // An asynchronous cut holds so many of each rank.
      for (const Step cut : progress.cuts) status.newest_cut += cut;
      if (rank < ShardStatus::most_listed) status.of_ranks.push_back({rank, false, last});
    }
    if (synchronous && !common.cuts.empty()) status.newest_cut = common.cuts.back();
    status.staleness = fastest - slowest;
  }

  template <class = void>
  static void describe_memory(const JobUpdaters& updaters, const ShardLayout& layout, ShardStatus& status) {
    status.value_bytes = layout.block_bytes();
    for (const ShardLayout::Group& group : layout.groups())
      status.slot_bytes += std::uint64_t{group.size_bytes} * updaters[group.updater].slots().size();
    const ShardLayout::Entry* before = nullptr;
    for (const ShardLayout::Entry& entry : layout.entries()) {
      // Parts of one variable are neighbours.
      const bool again = before != nullptr && before->variable == entry.variable;
      if (!again) ++status.variables;
      before = &entry;
      if (status.variables > ShardStatus::most_listed) continue;
      if (!again) status.of_variables.push_back({entry.name, 0});
      status.of_variables.back().bytes += entry.size_bytes;
    }
  }

  Instant began_;
  Step window_ = 0;
  std::vector<Step> newest_;  // by rank
  std::uint64_t pushes_ = 0;
  std::uint64_t pushed_bytes_ = 0;
  std::uint64_t pulls_ = 0;
  std::uint64_t pulled_bytes_ = 0;
  Instant arrived_{};
  std::vector<Instant> pushed_;  // when those came that were answered in this event
  std::vector<Instant> pulled_;
  LatencyHistogram push_times_;
  LatencyHistogram pull_times_;
};

}  // namespace v0
}  // namespace distrib
