// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/step.hpp>

#include <cstdint>
#include <memory>

namespace distrib {
inline namespace v0 {

/// How many examples the steps of a job have, also if its ranks change while it runs. A step of an asynchronous job is
/// one contribution, whatever its ranks are. Threads: one at a time.
class StepExamples {
 public:
  /// `per_step`: examples of a step with the ranks that the job begins with.
  StepExamples(const Job& job, std::uint64_t per_step)
      : changes_{job.most_ranks != 0 && job.consistency.is_synchronous()},
        begun_with_{job.ranks},
        per_step_{per_step},
        log_{job.ranks} {}

  /// The ranks of `entry` make `step`.
  void told(Step step, const RankEntry& entry) {
    if (*log_.entry_of(step) != entry) log_.add(std::make_shared<const RankEntry>(entry));
  }

  /// Returns the examples of the steps after `before`, up to `step`. `told` must have told their ranks.
  [[nodiscard]] auto between(Step before, Step step) const -> std::uint64_t {
    if (!changes_) return (step - before) * per_step_;
    return (log_.contributions_through(step) - log_.contributions_through(before)) * per_step_ / begun_with_;
  }

 private:
  bool changes_;
  std::uint64_t begun_with_;
  std::uint64_t per_step_;
  RankLog log_;
};

}  // namespace v0
}  // namespace distrib
