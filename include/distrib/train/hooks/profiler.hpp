// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/event.hpp>
#include <distrib/train/events.hpp>
#include <distrib/train/hooks/second_or_step_timer.hpp>

#include <cstdint>
#include <limits>
#include <memory>
#include <optional>
#include <string>

namespace distrib {
inline namespace v0 {

/// What a `Profiler` writes, and how often it passes it to the system. Exactly one of `save_steps` and `save_secs` must
/// be set.
struct ProfilerOptions {
  std::string output_dir;  ///< Is made if it does not exist.
  std::optional<Step> save_steps = std::nullopt;
  std::optional<double> save_secs = std::nullopt;
  Step first_step = 0;  ///< Only phases of these steps are written.
  Step last_step = std::numeric_limits<Step>::max();
  std::uint64_t max_events = 1'000'000;  ///< Of one process, about 100 bytes each; later ones are not written.
};

/// Writes when each rank of this process computed, pushed, waited and pulled, and when shards wrote cuts: a file for
/// Chrome's chrome://tracing and for Perfetto, in their JSON format. TensorFlow's ProfilerHook writes a file per
/// interval; this hook writes one per process, `DIRECTORY/trace-TASK.json`, also in parameter servers, and a process
/// that is started again begins another file. A killed process leaves a file without its last bracket, which the
/// viewers read too. The clocks of machines differ: `distrib trace merge` makes one file of several and aligns them at
/// steps.
///
/// Errors: if the file cannot be made, throws `std::system_error` with its path. If it cannot be written, for example
/// because the disk is full, tracing ends, which is reported to all hooks.
class Profiler {
 public:
  /// Throws `train_errc::bad_hook` if not exactly one of the intervals is set, or the directory is a URL.
  DISTRIB_DECL explicit Profiler(ProfilerOptions options);

  DISTRIB_DECL void on_phase(const PhaseMeasured& event);

  /// Returns an event if the file could not be written.
  [[nodiscard]] DISTRIB_DECL auto report() -> std::optional<Event>;

 private:
  class File;

  ProfilerOptions options_;
  SecondOrStepTimer timer_;
  std::shared_ptr<File> file_;  // null: nothing is written yet, or nothing more
  std::uint64_t events_ = 0;
  std::optional<Event> report_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/hooks/impl/profiler.ipp>
#endif
