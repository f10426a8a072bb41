// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/train/evaluator.hpp>
#include <distrib/train/events.hpp>
#include <distrib/train/onlooker.hpp>
#include <distrib/train/trainer.hpp>
#include <distrib/train/training_plan.hpp>
#include <distrib/train/training_report.hpp>

#include <optional>

namespace distrib {
inline namespace v0 {

/// Trains a plan in the role that the flags give: a parameter server, a worker, an evaluator, an onlooker, or, without
/// a job name, the whole job in this process. Made by `train(model)....build(pool, flags)`.
///
/// The chief (worker 0, or the task "chief" if the cluster has one) evaluates, unless `Evaluate::by_evaluator` says
/// otherwise. What the hooks of each task receive: see `Hook`, `Evaluator` and `Onlooker`.
///
/// Threads: one at a time. `run()` blocks its thread, and handles SIGINT and SIGTERM meanwhile.
class ClusterTrainer {
 public:
  /// `pool` must outlive the trainer. Throws, unless this is a parameter server, what `TrainingPlan::check` throws. A
  /// parameter server asks nothing of the model.
  DISTRIB_DECL ClusterTrainer(const TrainingPlan& plan, IoPool& pool, ClusterFlags flags);
  ClusterTrainer(ClusterTrainer&&) = default;
  DISTRIB_DECL ~ClusterTrainer();

  /// Without a job name: as `Trainer::run`. In a cluster, returns the exit code of the task:
  /// - 0: the job is done.
  /// - 1: this task was asked to stop, or found no other task. Start it again.
  /// - 70: a task is lost permanently; `on_event` has named it.
  /// - 74: a cut could not be written or read, or a loaded state needs more memory than there is.
  ///
  /// Throws `std::system_error` that says what and where if another start would fail as well, and what the model, the
  /// data and the hooks throw.
  [[nodiscard]] DISTRIB_DECL auto run() -> int;

  /// Returns the result of the last `run()`.
  [[nodiscard]] auto result() const noexcept -> const TrainingResult& {
    if (local_) return local_->result();
    return evaluator_ ? evaluator_->result() : onlooker_ ? onlooker_->result() : report_.result();
  }

 private:
  DISTRIB_DECL auto serve() -> int;
  DISTRIB_DECL void tell_end(const Error& why);

  TrainingPlan plan_;
  IoPool& pool_;
  ClusterFlags flags_;
  std::optional<Trainer> local_;  // runs the job if there is no job name
  std::optional<Evaluator> evaluator_;  // if this task is one
  std::optional<Onlooker> onlooker_;  // if this task is one
  TrainingReport report_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/cluster_trainer.ipp>
#endif
