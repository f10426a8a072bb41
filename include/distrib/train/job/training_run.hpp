// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <string>

namespace distrib {
inline namespace v0 {

/// One run of a plan in this process, contribution by contribution: what a trainer and a session drive, each in its own
/// way. A trainer does `while (run.next()) run.make(); return run.end();`.
///
/// Threads: one at a time, the owner's: the hooks are called on it, and so is the model, unless a pool computes.
class TrainingRun {
 public:
  virtual ~TrainingRun() = default;

  /// Waits until a contribution is to be computed on this thread: returns true, also at every further call until `make`
  /// or `abandon`. Returns false when the run is over. Handles events meanwhile: messages, hooks, signals. Throws what
  /// the model, the data and the hooks throw.
  [[nodiscard]] virtual auto next() -> bool = 0;

  /// Computes the contribution that `next` has announced, and sends it. Returns its loss. Throws as `next`; the run is
  /// then to be destroyed.
  virtual auto make() -> float = 0;

  /// The program asks the run to end, as a hook does: it finishes the steps in flight. `reason`: for
  /// `TrainingResult::stop_reason`.
  virtual void stop(const std::string& reason) = 0;
  /// True if the run was asked to end: by `stop`, a hook or a signal.
  [[nodiscard]] virtual auto stopping() const noexcept -> bool = 0;
  /// When the run was asked to end: the contribution that `next` has announced will not be made.
  virtual void abandon() = 0;

  /// Ends the run when `next` has returned false: tells the hooks. Returns the exit code of the trainer, and throws as
  /// its `run()`.
  [[nodiscard]] virtual auto end() -> int = 0;
};

}  // namespace v0
}  // namespace distrib
