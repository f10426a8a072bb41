// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/rank_block.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/ps/server/shard_identity.hpp>
#include <distrib/ps/wire/shard_status.hpp>
#include <distrib/rpc/latency_histogram.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Counts what a shard does, and describes the shard. A value that reads no clock and does not change the shard; an
/// event costs a few additions. The durations of calls are known if the shell reports when calls arrive and when they
/// are answered; it reads its clock once per event for that.
///
/// Threads: one at a time.
class ShardMeter {
 public:
  explicit ShardMeter(Instant now) : began_{now} {}

  /// The shard of `job` starts, or goes to another step: forgets the newest contribution of each rank.
  DISTRIB_DECL void opened(const Job& job);

  /// Sets when the request arrived that the shard handles next. `Instant{}`, also at first: not known, then no duration
  /// is measured.
  void arrived(Instant at) noexcept { arrived_ = at; }
  [[nodiscard]] auto arrived() const noexcept -> Instant { return arrived_; }

  /// True if calls were answered since the last `answered`. The shell must call `answered(now)` at the end of each such
  /// event.
  [[nodiscard]] auto has_answered() const noexcept -> bool { return !pushed_.empty() || !pulled_.empty(); }
  /// Adds the durations of the calls that were answered in this event.
  void answered(Instant now) {
    for (const Instant came : pushed_) push_times_.add(now - came);
    for (const Instant came : pulled_) pull_times_.add(now - came);
    for (const Instant came : completed_) completion_time_ += now - came;
    pushed_.clear();
    pulled_.clear();
    completed_.clear();
  }

  /// A contribution of `bytes`, or the sum of a block of ranks, arrived while the shard was at step `done`. If the step is
  /// beyond what the shard accepts, it does not count as the newest of these ranks.
  DISTRIB_DECL void pushed(RankBlock ranks, Step step, Step done, std::size_t bytes);
  /// The contribution that `pushed` has reported last completed `step`, in a synchronous job: these ranks were the last.
  /// If another contribution to the step came before, the step has waited for them since then.
  DISTRIB_DECL void completed(RankBlock ranks, Step step);
  /// A pull was answered with values of `bytes`. `came`: when the pull arrived.
  void pulled(std::size_t bytes, Instant came) {
    ++pulls_;
    pulled_bytes_ += bytes;
    note(pulled_, came);
  }

  /// Returns the status of the shard `identity`. `job` is empty while no job is known, `core` is null until its cuts
  /// are read. It lists all ranks. The caller adds which of them are joined, the number of parked pulls, the horizon, and
  /// the job's hash, and leaves out the ranks that are too many to be listed.
  [[nodiscard]] DISTRIB_DECL auto describe(const ShardIdentity& identity, const std::optional<Job>& job,
                                           const ShardKind& kind, const AnyShard* core, Instant now) const
      -> ShardStatus;

 private:
  // Keeps nothing if the shell reports no times.
  static void note(std::vector<Instant>& list, Instant came) {
    if (came != Instant{}) list.push_back(came);
  }

  // The contributions to the next step that have arrived, without those that came again. Those to later steps, which a
  // shard that came back is sent, are not timed: nothing waited for them.
  struct Arrivals {
    Step step = 0;
    std::uint64_t number = 0;
    Instant newest{};  // when the newest of them arrived
    Instant before{};  // when the one before it arrived
  };

  DISTRIB_DECL void describe_steps(const Job& job, const AnyShard& core, Instant now, ShardStatus& status) const;

  DISTRIB_DECL static void describe_memory(const JobUpdaters& updaters, const ShardLayout& layout, ShardStatus& status);

  Instant began_;
  Step window_ = 0;
  std::vector<Step> newest_;  // for each rank
  Arrivals next_;
  // For each rank, since the process started: steps that waited for it, and how long.
  std::vector<std::uint64_t> was_last_;
  std::vector<std::chrono::nanoseconds> waited_;
  std::uint64_t completions_ = 0;
  std::chrono::nanoseconds completion_time_{};
  std::uint64_t pushes_ = 0;
  std::uint64_t pushed_bytes_ = 0;
  std::uint64_t pulls_ = 0;
  std::uint64_t pulled_bytes_ = 0;
  Instant arrived_{};
  std::vector<Instant> pushed_;  // when the calls arrived that were answered in this event
  std::vector<Instant> pulled_;
  std::vector<Instant> completed_;  // of these pushes, those that have completed a step
  LatencyHistogram push_times_;
  LatencyHistogram pull_times_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/impl/shard_meter.ipp>
#endif
