// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/store/table_digest.hpp>
#include <distrib/tensor/runtime_values.hpp>
#include <distrib/train/any_model.hpp>
#include <distrib/train/events.hpp>
#include <distrib/train/hook_set.hpp>

#include <chrono>
#include <cstdint>
#include <span>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// The progress of a run of a trainer: keeps the `TrainingResult`, and passes events to the hooks.
///
/// Threads: one at a time.
class TrainingReport {
 public:
  explicit TrainingReport(HookSet hooks) : hooks_{std::move(hooks)} {}

  [[nodiscard]] auto result() const noexcept -> const TrainingResult& { return result_; }

  /// Passes an event to the hooks.
  void tell(const TrainingEvent& event) { hooks_.tell(event); }

  /// Returns a function that passes phases to the hooks as those of `task`; empty if no hook hears of them.
  [[nodiscard]] DISTRIB_DECL auto phases_of(std::string task) -> PhaseObserver;

  /// What the hooks ask for: see `HookSet`.
  [[nodiscard]] auto stop_reason() const -> std::string { return hooks_.stop_reason(); }
  [[nodiscard]] auto wants_checkpoint() -> bool { return hooks_.wants_checkpoint(); }

  /// Notes why a hook asked to stop. Sends nothing to the hooks.
  void stopped_by(std::string reason) { result_.stop_reason = std::move(reason); }

  /// Starts a new result, for a run of `job`. Returns the event for the hooks, but does not send it: the caller first
  /// sets where the run starts. `batch_size`: of one batch. `ps`: number of parameter server tasks, 0 in local
  /// mode.
  [[nodiscard]] DISTRIB_DECL auto begin(const Job& job, std::uint64_t batch_size, std::uint32_t ps) -> JobStart;

  /// Notes that `step` is done, and its loss if it is known. Sends nothing to the hooks.
  void reached(Step step) noexcept { result_.steps = step; }
  void reached(Step step, float loss) noexcept {
    result_.steps = step;
    result_.loss = loss;
  }

  /// Notes that `prefix` is the newest checkpoint. Sends nothing to the hooks.
  void has_checkpoint(std::string prefix) { result_.checkpoint = std::move(prefix); }

  /// Notes that the checkpoint of `step` is saved, and passes that to the hooks.
  DISTRIB_DECL void saved(Step step, std::string prefix);
  /// Notes the metrics of the model, and passes them to the hooks.
  DISTRIB_DECL void evaluated(const Evaluated& event);

  /// Notes that the steps from `start` to the current step took `time` and had so many `examples`, and whether the job
  /// is complete: so it must be called before `end`. Sends nothing to the hooks.
  DISTRIB_DECL void took(const Job& job, const JobStart& start, std::chrono::duration<double> time,
                         std::uint64_t examples);

  /// Ends the run with these values: notes their SHA-256, measures `measured` if the job is complete, and sends
  /// `JobEnd` to the hooks. `measured`: the values, or their averages; it contains the rows that `evaluation` needs.
  /// `evaluation`
  /// may be null: then nothing is measured.
  DISTRIB_DECL void end(const Job& job, const RuntimeValues& values, std::span<const TableDigest> tables,
                        const AnyEvaluation* evaluation, RuntimeValues& measured);
  /// Ends the run without values, because they are not known: sends `JobEnd` to the hooks.
  void end() { tell(JobEnd{result_}); }

 private:
  HookSet hooks_;
  TrainingResult result_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/training_report.ipp>
#endif
