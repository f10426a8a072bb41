// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/hooks/write_summaries.hpp>

#include <cmath>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void WriteSummaries::on_start(const JobStart& event) {
  file_.begin_anew();
  timer_.reset();
  examples_ = 0;
  // If an earlier run was killed after `first_step`, this makes TensorBoard drop what that run wrote for later steps.
  file_.write([first = static_cast<std::int64_t>(event.first_step)](EventWriter& writer, std::error_code& ec) {
    writer.session_log(SessionStatus::start, first + 1, {}, ec);
  });
}

DISTRIB_DECL void WriteSummaries::on_step(const StepDone& event) {
  examples_ += event.examples;
  const auto now = Clock::now();
  if (!timer_.should_trigger_for_step(event.step, now)) return;
  const auto passed = timer_.update_last_triggered_step(event.step, now);
  const double seconds = passed ? passed->time.count() : 0;
  const auto examples = static_cast<double>(std::exchange(examples_, 0));
  file_.write([&](EventWriter& writer, std::error_code& ec) {
    const auto step = static_cast<std::int64_t>(event.step);
    writer.scalar("loss", step, event.loss, {}, ec);
    if (!ec && !std::isnan(event.gradient_norm)) writer.scalar("gradient_norm", step, event.gradient_norm, {}, ec);
    if (!ec && seconds > 0) writer.scalar("examples_per_second", step, static_cast<float>(examples / seconds), {}, ec);
  });
}

DISTRIB_DECL void WriteSummaries::on_evaluated(const Evaluated& event) {
  write_metrics("evaluation/", event.step, event.metrics);
}

DISTRIB_DECL void WriteSummaries::on_validated(const ValidatedProgressively& event) {
  write_metrics("validation/", event.step, event.metrics);
}

DISTRIB_DECL void WriteSummaries::write_metrics(const std::string& prefix, Step step, const Metrics& metrics) {
  file_.write([&](EventWriter& writer, std::error_code& ec) {
    for (const auto& [name, value] : metrics.values())
      if (!ec) writer.scalar(prefix + name, static_cast<std::int64_t>(step), static_cast<float>(value), {}, ec);
  });
  file_.upload();
}

}  // namespace v0
}  // namespace distrib
