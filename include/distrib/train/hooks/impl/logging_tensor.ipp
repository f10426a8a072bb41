// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/hooks/logging_tensor.hpp>

#include <distrib/core/error.hpp>
#include <distrib/train/error.hpp>

#include <algorithm>
#include <cstddef>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void LoggingTensorOptions::check(std::error_code& ec) const {
  ec.clear();
  const bool only_at_end = at_end && !every_n_iter && !every_n_secs;
  if (!only_at_end && every_n_iter.has_value() == every_n_secs.has_value()) ec = train_errc::bad_hook;
  if (every_n_iter && *every_n_iter <= 0) ec = train_errc::bad_hook;
  if (every_n_secs && !(*every_n_secs >= 0)) ec = train_errc::bad_hook;
}

DISTRIB_DECL LoggingTensor::LoggingTensor(LoggingTensorOptions options) : options_{std::move(options)} {
  std::error_code ec;
  options_.check(ec);
  if (ec)
    throw_error(ec, "LoggingTensor: give at_end, or exactly one of every_n_iter and every_n_secs, above 0, or both");
  if (options_.every_n_iter) timer_.emplace(TimerOptions{.every_steps = static_cast<Step>(*options_.every_n_iter)});
  if (options_.every_n_secs) timer_.emplace(TimerOptions{.every_secs = options_.every_n_secs});
}

DISTRIB_DECL void LoggingTensor::on_contribution(const ContributionMade& event) {
  if (!timer_ || !event.is_first) return;
  const Step run = runs_++;
  const auto now = Clock::now();
  if (!timer_->should_trigger_for_step(run, now)) return;
  timer_->update_last_triggered_step(run, now);
  print(event.step, event.loss, *event.values);
}

DISTRIB_DECL void LoggingTensor::on_end(const JobEnd& event) {
  if (options_.at_end && event.values != nullptr) print(event.result.steps, event.result.loss, *event.values);
}

namespace detail {

// Returns "0.5" for one number, "[0.5 1 2]" for several; only the first ones of many.
DISTRIB_DECL auto short_list(const std::vector<double>& numbers) -> std::string {
  constexpr std::size_t most = 6;
  std::string text;
  for (std::size_t i = 0; i < std::min(numbers.size(), most); ++i) {
    char number[32];
    std::snprintf(number, sizeof number, "%s%.6g", i == 0 ? "" : " ", numbers[i]);
    text += number;
  }
  if (numbers.size() == 1) return text;
  return "[" + text + (numbers.size() > most ? " ...]" : "]");
}

}  // namespace detail

DISTRIB_DECL void LoggingTensor::print(Step step, float loss, const NamedValues& values) {
  constexpr std::string_view metric = "evaluation/";
  std::string line;
  for (const std::string& name : options_.tensors) {
    line += (line.empty() ? "" : ", ") + name + " = ";
    if (name == "loss") line += detail::short_list({double{loss}});
    else if (name == "step") line += std::to_string(step);
    else if (!name.starts_with(metric)) line += detail::short_list(values.read(name));
    else if (const auto value = metrics_.find(name.substr(metric.size()))) line += detail::short_list({*value});
    else line += "?";
  }
  const auto now = Clock::now();
  if (logged_) {
    char time[48];
    std::snprintf(time, sizeof time, " (%.3f sec)", std::chrono::duration<double>{now - *logged_}.count());
    line += time;
  }
  logged_ = now;
  std::fprintf(options_.stream, "%s\n", line.c_str());
  std::fflush(options_.stream);
}

}  // namespace v0
}  // namespace distrib
