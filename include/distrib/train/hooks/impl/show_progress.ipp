// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/hooks/show_progress.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void ShowProgress::on_start(const JobStart& event) {
  job_ = event;
  examples_ = 0;
  begun_ = shown_ = Clock::now();
  next_line_ = event.first_step + 1;
}

DISTRIB_DECL void ShowProgress::on_step(const StepDone& event) {
  examples_ += event.examples;
  const auto now = Clock::now();
  const bool last = event.step == job_.last_step;
  if (terminal_ ? !last && now - shown_ < std::chrono::milliseconds{100} : !last && event.step < next_line_) return;
  shown_ = now;
  next_line_ = event.step - event.step % every() + every();
  const std::chrono::duration<double> spent = now - begun_;
  const auto done = static_cast<double>(event.step - job_.first_step);
  const double left = spent.count() / done * static_cast<double>(job_.last_step - event.step);
  const double rate = static_cast<double>(examples_) / std::max(spent.count(), 1e-9);
  char text[160];
  if (is_endless()) {
    std::snprintf(text, sizeof text, "step %llu  loss %.4f  %.0f examples/s",
                  static_cast<unsigned long long>(event.step), static_cast<double>(event.loss), rate);
    return terminal_ ? bar(text, 0) : print(text);
  }
  std::snprintf(text, sizeof text, "step %llu/%llu  loss %.4f  %.0f examples/s  %.0f s left",
                static_cast<unsigned long long>(event.step), static_cast<unsigned long long>(job_.last_step),
                static_cast<double>(event.loss), rate, left);
  if (terminal_) bar(text, static_cast<double>(event.step) / static_cast<double>(job_.last_step));
  else print(text);
}

DISTRIB_DECL void ShowProgress::on_evaluated(const Evaluated& event) {
  print_metrics("evaluation after step " + std::to_string(event.step) + ":", event.metrics);
}

DISTRIB_DECL void ShowProgress::on_validated(const ValidatedProgressively& event) {
  print_metrics("batches up to step " + std::to_string(event.step) + " before training:", event.metrics);
}

DISTRIB_DECL void ShowProgress::print_metrics(std::string text, const Metrics& metrics) {
  for (const auto& [name, value] : metrics.values()) {
    char number[32];
    std::snprintf(number, sizeof number, " %.4f", value);
    text += " " + name + number;
  }
  print(text + "  (" + std::to_string(metrics.examples) + " examples)");
}

DISTRIB_DECL void ShowProgress::bar(std::string text, double share) {
  const int room = columns() - 1;
  const int width = std::clamp(room - 3 - static_cast<int>(text.size()), 0, 30);
  text.resize(std::min(text.size(), static_cast<std::size_t>(std::max(room - 3 - width, 0))));
  const int full = std::clamp(static_cast<int>(share * width), 0, width);
  const std::string cells =
      std::string(static_cast<std::size_t>(full), '#') + std::string(static_cast<std::size_t>(width - full), '.');
  std::fprintf(stream_, "\r\x1b[K[%s] %s", cells.c_str(), text.c_str());
  std::fflush(stream_);
  in_bar_ = true;
}

}  // namespace v0
}  // namespace distrib
