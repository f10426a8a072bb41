// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/train/any_model.hpp>
#include <distrib/train/events.hpp>
#include <distrib/train/training_plan.hpp>
#include <distrib/train/training_report.hpp>

#include <chrono>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// The task `evaluator` of a job, as in TensorFlow's train_and_evaluate: follows the directory of `SaveCheckpoint`,
/// which other processes write, and measures each checkpoint that it finds there with the `evaluate()` of the model,
/// the newest one first. It is no rank and talks to no other task, so no task waits for it. A `ClusterTrainer` whose
/// flags say "evaluator" is one.
///
/// Its hooks receive `on_evaluated`, `on_event` and `on_end`. Each hook that writes files needs another directory than
/// at the chief, such as DIRECTORY/eval: TensorBoard shows one file of a directory at a time.
///
/// Threads: one at a time. `run()` blocks its thread, and handles SIGINT and SIGTERM meanwhile.
class Evaluator {
 public:
  /// `task`: the name of the task, for events.
  Evaluator(TrainingPlan plan, std::string task)
      : plan_{std::move(plan)}, task_{std::move(task)}, report_{plan_.hooks()} {}

  /// Measures checkpoints until it has measured that of the job's last step. Returns 0 then. Returns 1 if a signal asks
  /// to stop, a hook does, or no new checkpoint comes for `ClusterMode::evaluator_patience`. The last step is the one
  /// that the checkpoint's job names; a job that ended before `StopAtStep::last_step` may go on, so the evaluator waits
  /// for its next checkpoint, and returns 0 if none comes.
  ///
  /// A checkpoint that cannot be read, for example because newer ones have replaced it, is reported to the hooks and
  /// passed over. Memory: the variables, and each table of the model as a whole.
  ///
  /// Errors: throws `train_errc::nothing_to_evaluate` if the trainer has no `Evaluate` or no `SaveCheckpoint`,
  /// `ps_errc::directory_in_use` if another evaluator writes in a directory of its hooks, and what the model, the data
  /// and the hooks throw.
  [[nodiscard]] DISTRIB_DECL auto run() -> int;

  /// Returns the result of the last `run()`: the last step that was measured, its checkpoint and its metrics.
  [[nodiscard]] auto result() const noexcept -> const TrainingResult& { return report_.result(); }

  /// How often it looks for a new checkpoint.
  static constexpr std::chrono::milliseconds look_every{500};

 private:
  DISTRIB_DECL void measure(const AnyEvaluation& evaluation, const std::string& prefix);

  TrainingPlan plan_;
  std::string task_;
  TrainingReport report_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/evaluator.ipp>
#endif
