// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/events.hpp>

#include <sys/ioctl.h>
#include <unistd.h>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <string>

namespace distrib {
inline namespace v0 {

/// Shows how the training goes: step, loss, examples a second, time left. A bar that stays on one line on a terminal,
/// plain lines (one each twentieth of the job) elsewhere.
class ShowProgress {
 public:
  /// Writes to `stream`, which must outlive the training.
  explicit ShowProgress(std::FILE* stream = stdout) noexcept
      : stream_{stream}, terminal_{::isatty(::fileno(stream)) != 0} {}

  void on_start(const JobStart& event) {
    job_ = event;
    examples_ = 0;
    begun_ = shown_ = Clock::now();
    next_line_ = event.first_step + 1;
  }

  void on_step(const StepDone& event) {
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
    std::snprintf(text, sizeof text, "step %llu/%llu  loss %.4f  %.0f examples/s  %.0f s left",
                  static_cast<unsigned long long>(event.step), static_cast<unsigned long long>(job_.last_step),
                  static_cast<double>(event.loss), rate, left);
    if (terminal_) bar(text, static_cast<double>(event.step) / static_cast<double>(job_.last_step));
    else print(text);
  }

  template <class = void> void on_evaluated(const Evaluated& event) {
    std::string text = "evaluation after step " + std::to_string(event.step) + ":";
    for (const auto& [name, value] : event.metrics.values()) {
      char number[32];
      std::snprintf(number, sizeof number, " %.4f", value);
      text += " " + name + number;
    }
    print(text + "  (" + std::to_string(event.metrics.examples) + " examples)");
  }

  void on_event(const Event& event) { print(event.text); }

  void on_end(const JobEnd&) { end_bar(); }

 private:
  using Clock = std::chrono::steady_clock;

  auto every() const -> Step { return std::max<Step>(1, (job_.last_step - job_.first_step) / 20); }

  // A line that is longer than the terminal would not be cleared by the next one.
  auto columns() const -> int {
    ::winsize size{};
    return ::ioctl(::fileno(stream_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  }

  void bar(std::string text, double share) {
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

  void end_bar() {
    if (in_bar_) std::fputc('\n', stream_);
    in_bar_ = false;
  }

  void print(const std::string& line) {
    end_bar();
    std::fprintf(stream_, "%s\n", line.c_str());
    std::fflush(stream_);
  }

  std::FILE* stream_;
  bool terminal_;
  bool in_bar_ = false;
  JobStart job_;
  std::uint64_t examples_ = 0;
  Clock::time_point begun_{};
  Clock::time_point shown_{};
  Step next_line_ = 1;
};

}  // namespace v0
}  // namespace distrib
