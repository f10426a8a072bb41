// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/replies.hpp>

#include <chrono>

namespace distrib {
inline namespace v0 {

/// Makes this worker of a cluster begin only when the job has done so many steps, as TensorFlow's GlobalStepWaiterHook:
/// `GlobalStepWaiter{100 * flags.task_index}` starts workers one after the other. Before its first contribution the
/// worker asks a parameter server for the global step every `poll_every`; after that never again. A worker that is
/// restarted later finds the step reached. 0: does not wait.
///
/// For asynchronous jobs: a synchronous step needs every worker, so `run()` throws `train_errc::cannot_wait`, also in
/// one process. Parameter servers wait for a rank that never came as long as for a lost one, see
/// `ClusterMode::restart_window`.
struct GlobalStepWaiter {
  using Setting = GlobalStepWaiter;
  Step wait_until_step = 0;
  static constexpr std::chrono::milliseconds poll_every{500};

  /// True if a worker may begin when the job has done `global_step` steps.
  [[nodiscard]] auto may_begin(Step global_step) const noexcept -> bool { return global_step >= wait_until_step; }
};

}  // namespace v0
}  // namespace distrib
