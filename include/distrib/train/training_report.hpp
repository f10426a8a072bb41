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

/// How far a run of a trainer has come: keeps the `TrainingResult` and passes events to the hooks.
/// Threads: one at a time.
class TrainingReport {
 public:
  explicit TrainingReport(HookSet hooks) : hooks_{std::move(hooks)} {}

  [[nodiscard]] auto result() const noexcept -> const TrainingResult& { return result_; }

  /// Gives the hooks an event.
  void tell(const TrainingEvent& event) { hooks_.tell(event); }

  /// A run of `job` begins. Tells the hooks nothing. `ps`: parameter server tasks, 0 in local mode.
  [[nodiscard]] DISTRIB_DECL auto begin(const Job& job, std::uint64_t batch_size, std::uint32_t ps) -> JobStart;

  /// `step` is done, with this loss. Tells the hooks nothing.
  void reached(Step step) noexcept { result_.steps = step; }
  void reached(Step step, float loss) noexcept {
    result_.steps = step;
    result_.loss = loss;
  }

  /// `prefix` is the newest checkpoint. Tells the hooks nothing.
  void has_checkpoint(std::string prefix) { result_.checkpoint = std::move(prefix); }

  /// The checkpoint of `step` is saved. Tells the hooks.
  DISTRIB_DECL void saved(Step step, std::string prefix);
  /// The model is measured. Tells the hooks.
  DISTRIB_DECL void evaluated(const Evaluated& event);

  /// The steps from `start` to the step that is reached took `time`. Tells the hooks nothing.
  DISTRIB_DECL void took(const Job& job, const JobStart& start, std::chrono::duration<double> time);

  /// The run ends with these values. Measures them if the job is complete, and tells the hooks. `values` have the rows
  /// that `evaluation` needs; `evaluation` may be null.
  DISTRIB_DECL void end(const Job& job, RuntimeValues& values, std::span<const TableDigest> tables,
                        const AnyEvaluation* evaluation);
  /// The run ends and its values are not known. Tells the hooks.
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
