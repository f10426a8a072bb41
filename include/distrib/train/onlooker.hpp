// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/train/events.hpp>
#include <distrib/train/training_plan.hpp>
#include <distrib/train/training_report.hpp>

#include <chrono>
#include <utility>

namespace distrib {
inline namespace v0 {

/// The task `onlooker` of a job: measures the values that the parameter servers have now with the `evaluate()` of the
/// model, while the others train. Unlike an `Evaluator` it needs no checkpoints. It is no rank: no task waits for it,
/// it changes nothing, and it may be started and killed at any moment. There may be several; a shard serves 8. A
/// `ClusterTrainer` whose flags say "onlooker" is one; it needs the same program and flags as the others, which make
/// the text of the job.
///
/// In a synchronous job all values of a measurement are of one step, as a worker sees them. In an asynchronous job each
/// shard answers with what it has, and `Evaluated::step` is the least number of contributions that a shard has counted.
///
/// Its hooks receive `on_evaluated`, `on_event` and `on_end`. Each hook that writes files needs another directory than
/// at other tasks.
///
/// Threads: one at a time. `run()` blocks its thread, and handles SIGINT and SIGTERM meanwhile; the connections are on
/// the first thread of the pool.
class Onlooker {
 public:
  /// `pool` must outlive it.
  Onlooker(const TrainingPlan& plan, IoPool& pool, ClusterFlags flags)
      : plan_{plan.with_flags(flags)}, pool_{pool}, flags_{std::move(flags)}, report_{plan_.hooks()} {}

  /// Measures again and again until it has measured the values at the end of the job, or the job has ended without it:
  /// a parameter server says so, or the checkpoint of the last step does. Returns 0 then. Returns 1 if a signal asks to
  /// stop, a hook does, or the parameter servers cannot be reached, or do not serve it, for longer than
  /// `ClusterMode::start_within` at the start, later `lease` and `restart_window`.
  /// Between two looks it pauses for as long as the first took, and at least for `look_every`.
  ///
  /// Memory: the variables, and the rows that the evaluation needs.
  ///
  /// Errors: throws `train_errc::nothing_to_evaluate` if the trainer has no `Evaluate`; `no_averages` if that asks for
  /// averages, which parameter servers keep for checkpoints only; `ps_errc::job_mismatch` if the tasks train another
  /// job; `rpc_errc::unknown_method` if a parameter server is of an older version; `ps_errc::directory_in_use` if
  /// another process writes in a directory of its hooks; and what the model, the data and the hooks throw.
  [[nodiscard]] DISTRIB_DECL auto run() -> int;

  /// Returns the result of the last `run()`: the last step that was measured, and its metrics.
  [[nodiscard]] auto result() const noexcept -> const TrainingResult& { return report_.result(); }

  /// The shortest pause between two looks.
  static constexpr std::chrono::milliseconds look_every{1'000};

 private:
  TrainingPlan plan_;
  IoPool& pool_;
  ClusterFlags flags_;
  TrainingReport report_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/onlooker.ipp>
#endif
