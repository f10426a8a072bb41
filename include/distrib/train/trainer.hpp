// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/train/events.hpp>
#include <distrib/train/training_plan.hpp>
#include <distrib/train/training_report.hpp>

#include <utility>

namespace distrib {
inline namespace v0 {

/// Trains a plan in one process, with the workers and shards that `LocalMode` names, without sockets. Made by
/// `train(model)....build()`.
///
/// Threads: one at a time. `run()` blocks its thread, and handles SIGINT and SIGTERM meanwhile.
class Trainer {
 public:
  /// `pool` must outlive the trainer. If it is null, everything runs on the thread of `run()`. Throws what
  /// `TrainingPlan::check` throws.
  explicit Trainer(TrainingPlan plan, IoPool* pool = nullptr)
      : plan_{std::move(plan)}, pool_{pool}, report_{plan_.hooks()} {
    plan_.check();
  }

  /// Trains to the last step, or until a hook or a signal asks it to stop. Returns the exit code: 0: the job is done,
  /// or a hook asked to stop; 1: a signal did. With `SaveCheckpoint` the steps that are done are saved, and the next
  /// start continues from there.
  ///
  /// Errors: throws `std::system_error` that says what and where; `ps_errc::directory_in_use` if another job writes in
  /// one of its directories. Also throws what the model, the data and the hooks throw.
  [[nodiscard]] DISTRIB_DECL auto run() -> int;

  /// Returns the result of the last `run()`.
  [[nodiscard]] auto result() const noexcept -> const TrainingResult& { return report_.result(); }

 private:
  TrainingPlan plan_;
  IoPool* pool_;
  TrainingReport report_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/trainer.ipp>
#endif
