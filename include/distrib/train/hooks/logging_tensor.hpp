// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/train/events.hpp>
#include <distrib/train/hooks/second_or_step_timer.hpp>
#include <distrib/train/metrics.hpp>
#include <distrib/train/named_values.hpp>

#include <chrono>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a `LoggingTensor` prints, and when.
struct LoggingTensorOptions {
  /// "loss", "step", the name of a variable, or "evaluation/NAME" for a metric of the newest evaluation.
  std::vector<std::string> tensors = {"loss", "step"};
  std::optional<std::int64_t> every_n_iter = std::nullopt;  ///< Above 0.
  std::optional<double> every_n_secs = std::nullopt;
  bool at_end = false;  ///< Also at the end of a run, if the values are known there, see `JobEnd::values`.
  std::FILE* stream = stderr;  ///< Must outlive the training.

  /// Sets `ec` to `train_errc::bad_hook` unless exactly one of `every_n_iter` and `every_n_secs` is set, or only
  /// `at_end`.
  DISTRIB_DECL void check(std::error_code& ec) const;
};

/// Prints values by name, as TensorFlow's LoggingTensorHook: "loss = 0.25, bias = 0.5 (0.031 sec)". It counts the
/// contributions of the process that it is in, not global steps, and prints the first one, then every n-th; a process
/// with several ranks counts those of the lowest. The time is that since the line before. Variables have the values
/// from which the contribution was computed; of a long one the first six elements are printed.
///
/// Errors: the constructor throws `train_errc::bad_hook`, see `LoggingTensorOptions::check`. A name that the job does
/// not have ends the job with `variables_errc::unknown_name`; a metric that is not known yet is printed as "?".
class LoggingTensor {
 public:
  DISTRIB_DECL explicit LoggingTensor(LoggingTensorOptions options);

  void on_start(const JobStart&) {
    if (timer_) timer_->reset();
    runs_ = 0;
    logged_.reset();
  }
  DISTRIB_DECL void on_contribution(const ContributionMade& event);
  void on_evaluated(const Evaluated& event) { metrics_ = event.metrics; }
  DISTRIB_DECL void on_end(const JobEnd& event);

 private:
  using Clock = std::chrono::steady_clock;

  DISTRIB_DECL void print(Step step, float loss, const NamedValues& values);

  LoggingTensorOptions options_;
  std::optional<SecondOrStepTimer> timer_;  // empty: only at the end
  Metrics metrics_;
  Step runs_ = 0;
  std::optional<Clock::time_point> logged_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/hooks/impl/logging_tensor.ipp>
#endif
