// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/events.hpp>
#include <distrib/train/hooks/second_or_step_timer.hpp>

#include <chrono>
#include <optional>
#include <utility>

namespace distrib {
inline namespace v0 {

/// When a `CheckpointSaver` asks for a checkpoint. Exactly one of the two must be set.
struct CheckpointSaverOptions {
  std::optional<double> save_secs = std::nullopt;
  std::optional<Step> save_steps = std::nullopt;
};

/// Asks for checkpoints when TensorFlow's CheckpointSaverHook saves: at the start of a run, even at step 0 (not with a
/// `CustomInitializer` or tables, whose values come later); then when so many steps or seconds have passed since the
/// last one. At the end of a run, `SaveCheckpoint` saves anyway. So `SaveCheckpoint{.directory = dir, .every_steps =
/// 0}` says where checkpoints go, and this hook when.
///
/// What TensorFlow calls the listeners of a saver are other hooks: `on_saving` (before_save), `on_saved` (after_save;
/// `stop_reason` there is its "return True") and `on_end`.
///
/// In one process only, see `Hook`.
class CheckpointSaver {
 public:
  /// Throws `train_errc::bad_hook` if not exactly one of the options is set.
  explicit CheckpointSaver(const CheckpointSaverOptions& options)
      : timer_{{.every_secs = options.save_secs, .every_steps = options.save_steps}} {}

  void on_start(const JobStart& event) {
    timer_.reset();
    look_at(event.first_step);
  }
  void on_step(const StepDone& event) { look_at(event.step); }

  /// Returns true if a checkpoint was due since the last call.
  [[nodiscard]] auto wants_checkpoint() -> bool { return std::exchange(wanted_, false); }

 private:
  void look_at(Step step) {
    const auto now = std::chrono::steady_clock::now();
    if (!timer_.should_trigger_for_step(step, now)) return;
    timer_.update_last_triggered_step(step, now);
    wanted_ = true;
  }

  SecondOrStepTimer timer_;
  bool wanted_ = false;
};

}  // namespace v0
}  // namespace distrib
