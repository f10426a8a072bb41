// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/hooks/second_or_step_timer.hpp>

#include <distrib/core/error.hpp>
#include <distrib/train/error.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void TimerOptions::check(std::error_code& ec) const {
  ec.clear();
  const bool usable = !every_secs || *every_secs >= 0;  // false for NaN
  if (every_secs.has_value() == every_steps.has_value() || !usable) ec = train_errc::bad_hook;
}

DISTRIB_DECL SecondOrStepTimer::SecondOrStepTimer(const TimerOptions& options) : options_{options} {
  std::error_code ec;
  options.check(ec);
  if (ec) throw_error(ec, "exactly one of a number of steps and a number of seconds must be given");
}

DISTRIB_DECL auto SecondOrStepTimer::should_trigger_for_step(Step step, Time now) const noexcept -> bool {
  if (!last_) return true;
  if (step == last_->step) return false;
  if (options_.every_secs) return now - last_->time >= std::chrono::duration<double>{*options_.every_secs};
  return step >= last_->step && step - last_->step >= *options_.every_steps;
}

DISTRIB_DECL auto SecondOrStepTimer::update_last_triggered_step(Step step, Time now) noexcept -> std::optional<Passed> {
  std::optional<Passed> passed;
  if (last_) passed = {now - last_->time, step >= last_->step ? step - last_->step : 0};
  last_ = {step, now};
  return passed;
}

}  // namespace v0
}  // namespace distrib
