// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/replies.hpp>

#include <cstdint>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Ends the job after a global step. Asynchronous: each contribution counts as a step. With local steps these count, and
/// both numbers must be multiples of `TrainerBuilder::with_local_steps`. If the data end before, the job
/// ends with them. Neither member set: refused with `train_errc::no_end`; both: with `train_errc::bad_hook`.
struct StopAtStep {
  using Setting = StopAtStep;
  std::uint64_t last_step = 0;  ///< Number of the last step, from 1, counted from the first run of the job.
  /// Steps of this run, counted from the checkpoint that it continues from. In one process only: the tasks of a cluster
  /// would count from different steps (`train_errc::only_in_one_process`).
  std::uint64_t num_steps = 0;

  /// Sets `ec` to the error named above if the members do not say when the job ends.
  DISTRIB_DECL void check(std::error_code& ec) const;

  /// Returns the last step of a run that begins when `done` steps are done.
  [[nodiscard]] auto last_step_from(Step done) const noexcept -> Step {
    return num_steps != 0 ? done + num_steps : last_step;
  }
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/stop_at_step.ipp>
#endif
