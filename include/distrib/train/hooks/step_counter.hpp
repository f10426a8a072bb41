// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/event.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/train/events.hpp>
#include <distrib/train/hooks/second_or_step_timer.hpp>
#include <distrib/train/hooks/summary_file.hpp>

#include <optional>
#include <string>

namespace distrib {
inline namespace v0 {

/// Where and when a `StepCounter` writes. Exactly one of the two intervals must be set.
struct StepCounterOptions {
  /// Of the event files; only one job at a time may use it. Give it a directory of its own: TensorBoard shows one file
  /// of a directory at a time.
  std::string output_dir;
  std::optional<Step> every_n_steps = 100;
  std::optional<double> every_n_secs = std::nullopt;
};

/// Writes the curve `global_step/sec` for TensorBoard, as TensorFlow's StepCounterHook: the first step of a run only
/// starts the clock; then writes, each time when so many steps or seconds have passed, the steps per second since. If
/// the disk is full, the points are dropped, which is reported to all hooks once. The directory may be a URL, as that of
/// `WriteSummaries`.
class StepCounter {
 public:
  /// The tag of the curve.
  static constexpr const char* tag = "global_step/sec";

  /// Throws `train_errc::bad_hook` if not exactly one of the intervals is set.
  explicit StepCounter(const StepCounterOptions& options)
      : file_{options.output_dir}, timer_{{.every_secs = options.every_n_secs, .every_steps = options.every_n_steps}} {}

  void use_object_stores(const OpenObjectStore& open) { file_.use_object_stores(open); }
  void on_saved(const CheckpointSaved&) { file_.upload(); }
  void on_start(const JobStart&) {
    file_.begin_anew();
    timer_.reset();
  }
  DISTRIB_DECL void on_step(const StepDone& event);
  void on_end(const JobEnd&) {
    if (file_.is_open()) file_.write([](EventWriter&, std::error_code&) {}, true);
  }

  /// Returns the directory of the event files.
  [[nodiscard]] auto written_directory() const -> std::string { return file_.directory(); }

  /// Returns an event if the disk was found to be full.
  [[nodiscard]] auto report() -> std::optional<Event> { return file_.report(); }

 private:
  SummaryFile file_;
  SecondOrStepTimer timer_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/hooks/impl/step_counter.ipp>
#endif
