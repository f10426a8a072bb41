// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/event.hpp>
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

/// Shows the progress of the training: step, loss, examples per second, time left. On a terminal it shows a bar that
/// stays on one line. Otherwise it prints plain lines: for the first step of the run, then one per twentieth of the
/// run's steps, and for the last step of the job. Evaluations and events get a line each. Of a job without a last step, it
/// shows no time left, and every 1000th step.
class ShowProgress {
 public:
  /// `stream`: where to write. It must outlive the training.
  explicit ShowProgress(std::FILE* stream = stdout) noexcept
      : stream_{stream}, terminal_{::isatty(::fileno(stream)) != 0} {}

  /// Notes the steps of the run and prints nothing. The trainer calls this function and those below.
  DISTRIB_DECL void on_start(const JobStart& event);

  /// On a terminal draws the bar again, at most ten times a second; otherwise prints a line if one is due.
  DISTRIB_DECL void on_step(const StepDone& event);

  /// Prints a line with the step, the name and value of each metric, and the number of examples.
  DISTRIB_DECL void on_evaluated(const Evaluated& event);

  /// As `on_evaluated`, for batches that were measured before they were trained on.
  DISTRIB_DECL void on_validated(const ValidatedProgressively& event);

  /// Prints the text of the event as a line.
  void on_event(const Event& event) { print(event.text); }

  /// Ends the line of the bar.
  void on_end(const JobEnd&) { end_bar(); }

 private:
  DISTRIB_DECL void print_metrics(std::string text, const Metrics& metrics);
  using Clock = std::chrono::steady_clock;

  // More steps than this are never done: the data never end, and there is no StopAtStep.
  auto is_endless() const -> bool { return job_.last_step > Step{1} << 48; }
  auto every() const -> Step {
    return is_endless() ? 1000 : std::max<Step>(1, (job_.last_step - job_.first_step) / 20);
  }

  // A line that is wider than the terminal would wrap, and the next one would not clear it.
  auto columns() const -> int {
    ::winsize size{};
    return ::ioctl(::fileno(stream_), TIOCGWINSZ, &size) == 0 && size.ws_col > 0 ? size.ws_col : 80;
  }

  DISTRIB_DECL void bar(std::string text, double share);

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

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/hooks/impl/show_progress.ipp>
#endif
