// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/replies.hpp>
#include <distrib/train/save_checkpoint.hpp>

#include <algorithm>
#include <cstddef>
#include <deque>
#include <optional>

namespace distrib {
inline namespace v0 {

/// Which step a restart may go back to: the oldest of the newest checkpoints, as many as `SaveCheckpoint` keeps, at
/// least 2, because the newest may be lost on one shard. Checkpoints that are kept for hours do not count. Knows only
/// the checkpoints of this run, so after a start it says nothing until there are enough of them. A value.
class KeptSteps {
 public:
  /// Empty: a job without checkpoints, which begins again at step 0.
  explicit KeptSteps(const std::optional<SaveCheckpoint>& save)
      : most_{save && save->max_to_keep != 0 ? std::max<std::size_t>(save->max_to_keep, 2) : 0} {}

  /// There is a checkpoint of this step. Returns the step before which no restart goes; empty if that is not known, or
  /// if all checkpoints are kept.
  [[nodiscard]] auto saved(Step step) -> std::optional<Step> {
    if (most_ == 0) return std::nullopt;
    while (!steps_.empty() && steps_.back() >= step) steps_.pop_back();  // the job was sent back
    steps_.push_back(step);
    if (steps_.size() < most_) return std::nullopt;
    if (steps_.size() > most_) steps_.pop_front();
    return steps_.front();
  }

 private:
  std::size_t most_;  // 0: all are kept
  std::deque<Step> steps_;
};

}  // namespace v0
}  // namespace distrib
