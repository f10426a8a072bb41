// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/train/events.hpp>

#include <chrono>
#include <cstdint>
#include <map>
#include <optional>
#include <string>

namespace distrib {
inline namespace v0 {

/// How far a training is, in the form that Kubeflow Trainer keeps in the status of a TrainJob: percent, seconds left, and
/// numbers by name. Takes what hooks are told, and the time; reads no clock, and sends nothing. A value.
///
/// Format: `UpdateTrainJobStatusRequest` in pkg/apis/trainer/v1alpha1/trainjob_types.go of kubeflow/trainer 2.3.
class TrainJobProgress {
 public:
  using Instant = std::chrono::steady_clock::time_point;

  DISTRIB_DECL void started(const JobStart& event, Instant now);
  DISTRIB_DECL void stepped(const StepDone& event);
  DISTRIB_DECL void evaluated(const Evaluated& event);
  /// The run is over. Only a job that is complete is at 100 %.
  DISTRIB_DECL void ended(const TrainingResult& result);

  /// Returns the steps that are done in percent, rounded down: so 100 means that all are.
  [[nodiscard]] DISTRIB_DECL auto percent() const noexcept -> int;

  /// Returns the seconds that the other steps take, at the mean rate of this run; empty before the first step of this
  /// run. At most 2^31 - 1.
  [[nodiscard]] DISTRIB_DECL auto seconds_left(Instant now) const noexcept -> std::optional<std::int32_t>;

  /// Returns the request as JSON. `clock`: the present time, for `lastUpdatedTime`. Numbers: `step`, `loss` and
  /// `examples_per_second` of this run, and those of the newest evaluation by their names, which are cut off after 64
  /// bytes; a NaN is left out. At most 256 numbers.
  [[nodiscard]] DISTRIB_DECL auto json(Instant now, std::chrono::system_clock::time_point clock) const -> std::string;

 private:
  Step first_ = 0;  // done before this run
  Step step_ = 0;
  Step last_ = 0;
  Instant began_{};
  std::uint64_t examples_ = 0;  // of this run
  std::optional<float> loss_;
  std::map<std::string, double> measured_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/hooks/impl/train_job_progress.ipp>
#endif
