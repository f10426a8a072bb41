// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/replies.hpp>

#include <chrono>
#include <optional>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// How often a hook does something: every so many steps, or every so many seconds. One of the two must be set.
struct TimerOptions {
  std::optional<double> every_secs = std::nullopt;  ///< Not negative, and not NaN.
  std::optional<Step> every_steps = std::nullopt;

  /// Sets `ec` to `train_errc::bad_hook` if not exactly one of the two is set.
  DISTRIB_DECL void check(std::error_code& ec) const;
};

/// Says when something is due, as TensorFlow's SecondOrStepTimer: at the first step that it is asked about; after that
/// when the time or the number of steps since the last time is reached; never twice at one step. Reads no clock: the
/// caller passes the time. A value.
class SecondOrStepTimer {
 public:
  using Time = std::chrono::steady_clock::time_point;

  /// What passed between two times at which something was due.
  struct Passed {
    std::chrono::duration<double> time{};
    Step steps = 0;
  };

  /// Throws `train_errc::bad_hook` if not exactly one of the two options is set.
  DISTRIB_DECL explicit SecondOrStepTimer(const TimerOptions& options);

  /// Forgets the last time: the next step is due again.
  void reset() noexcept { last_.reset(); }

  /// True if it is due at this step.
  [[nodiscard]] DISTRIB_DECL auto should_trigger_for_step(Step step, Time now) const noexcept -> bool;

  /// Notes that it was done at this step. Returns what has passed since the last time; empty the first time.
  DISTRIB_DECL auto update_last_triggered_step(Step step, Time now) noexcept -> std::optional<Passed>;

  /// Returns the step at which it was last done; empty if it was not.
  [[nodiscard]] auto last_triggered_step() const noexcept -> std::optional<Step> {
    return last_ ? std::optional{last_->step} : std::nullopt;
  }

 private:
  struct Last {
    Step step;
    Time time;
  };

  TimerOptions options_;
  std::optional<Last> last_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/hooks/impl/second_or_step_timer.ipp>
#endif
