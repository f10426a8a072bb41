// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/event.hpp>
#include <distrib/record/any_object_store.hpp>
#include <distrib/summary/event_writer.hpp>
#include <distrib/train/events.hpp>
#include <distrib/train/hooks/second_or_step_timer.hpp>
#include <distrib/train/hooks/summary_file.hpp>

#include <chrono>
#include <cstdint>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Writes TensorBoard event files: `loss` and `examples_per_second` after the first step of a run, and then every
/// `every_steps` steps (0 counts as 1) or every so many seconds, as TensorFlow's SummarySaverHook. With them
/// `gradient_norm` if the job clips by norm, `evaluation/NAME` for each metric of each evaluation, and `validation/NAME`
/// for those of `ProgressiveValidation`. The first step has no `examples_per_second`. Each run of a job adds a file to
/// the directory; only one job at a time may use it.
///
/// The directory may be a URL, "s3://bucket/run/events", see `TrainerBuilder::with_object_stores`. Then the events of a
/// run are kept in memory, and the whole file is written into the store at each checkpoint, at each evaluation and at
/// the end: a process that is killed loses the points since the last checkpoint.
///
/// Errors: if the disk is full, the events are dropped, and that is reported to all hooks; training continues. Also
/// reported, and no reason to end, is an object store that does not answer; at the end the hook waits for it, up to
/// 30 s. Any other failure throws, which ends the job.
class WriteSummaries {
 public:
  /// Writes to `directory`, which is made at the start of a run if it does not exist. Does not touch the disk yet.
  explicit WriteSummaries(std::string directory, std::uint64_t every_steps = 100)
      : file_{std::move(directory)}, timer_{{.every_steps = every_steps == 0 ? 1 : every_steps}} {}
  /// Throws `train_errc::bad_hook` if not exactly one of the two options is set.
  WriteSummaries(std::string directory, const TimerOptions& when) : file_{std::move(directory)}, timer_{when} {}

  void use_object_stores(const OpenObjectStore& open) { file_.use_object_stores(open); }

  /// Begins the event file of this run. The trainer calls this function and those below.
  DISTRIB_DECL void on_start(const JobStart& event);

  /// Writes the values of the step if they are due, and passes them to the operating system at once.
  DISTRIB_DECL void on_step(const StepDone& event);

  /// Writes each metric of `event.metrics` as a point `evaluation/NAME`, rounded to float, at the step `event.step`,
  /// and passes the points to the operating system at once.
  DISTRIB_DECL void on_evaluated(const Evaluated& event);

  /// As `on_evaluated`, with the names `validation/NAME`.
  DISTRIB_DECL void on_validated(const ValidatedProgressively& event);
  /// Writes the event file into the object store, if the directory is there.
  void on_saved(const CheckpointSaved&) { file_.upload(); }

  /// Writes what is left and closes the event file.
  void on_end(const JobEnd&) {
    if (file_.is_open()) file_.write([](EventWriter&, std::error_code&) {}, true);
  }

  /// Returns the directory of the event files.
  [[nodiscard]] auto written_directory() const -> std::string { return file_.directory(); }

  /// Returns an event if the disk was found to be full, or the object store did not answer: see `SummaryFile::report`.
  [[nodiscard]] auto report() -> std::optional<Event> { return file_.report(); }

 private:
  using Clock = std::chrono::steady_clock;

  DISTRIB_DECL void write_metrics(const std::string& prefix, Step step, const Metrics& metrics);

  SummaryFile file_;
  SecondOrStepTimer timer_;
  std::uint64_t examples_ = 0;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/hooks/impl/write_summaries.ipp>
#endif
