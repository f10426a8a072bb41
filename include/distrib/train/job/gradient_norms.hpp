// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/replies.hpp>

#include <algorithm>
#include <iterator>
#include <limits>
#include <map>
#include <mutex>

namespace distrib {
inline namespace v0 {

/// The largest gradient norm of each step of a job in one process, until the step is done. Largest, because this does
/// not depend on the order of the contributions.
///
/// Threads: any.
class GradientNorms {
 public:
  /// Notes the norm of a contribution to `step`. NaN: there is no norm, nothing is noted.
  void add(Step step, float norm) {
    if (!(norm >= 0)) return;
    const std::lock_guard lock{mutex_};
    float& largest = norms_.try_emplace(step, norm).first->second;
    largest = std::max(largest, norm);
  }

  /// Returns the largest norm of `step`, and forgets this step and those before it. In an asynchronous job, where the
  /// steps of contributions are those of their ranks: of the last step up to `step`. NaN: none was noted.
  [[nodiscard]] auto take(Step step) -> float {
    const std::lock_guard lock{mutex_};
    const auto end = norms_.upper_bound(step);
    const float norm = end != norms_.begin() ? std::prev(end)->second : std::numeric_limits<float>::quiet_NaN();
    norms_.erase(norms_.begin(), end);
    return norm;
  }

 private:
  std::mutex mutex_;
  std::map<Step, float> norms_;
};

}  // namespace v0
}  // namespace distrib
