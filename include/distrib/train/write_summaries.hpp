// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/summary/event_writer.hpp>
#include <distrib/train/events.hpp>

#include <chrono>
#include <cstdint>
#include <memory>
#include <optional>
#include <string>
#include <utility>

namespace distrib::inline v0 {

/// Writes TensorBoard event files: `loss` and `examples_per_second` after the first step and then every so many, and
/// `evaluation/NAME` of each metric. Every run of a job adds a file to the directory.
class WriteSummaries {
 public:
  explicit WriteSummaries(std::string directory, std::uint64_t every_steps = 100)
      : directory_{std::move(directory)}, every_steps_{every_steps == 0 ? 1 : every_steps} {}

  template <class = void> void on_start(const JobStart& event) {
    writer_ = std::make_shared<EventWriter>(directory_);
    // TensorBoard drops what an earlier run, killed after this step, wrote beyond it.
    if (event.first_step > 0) writer_->session_log(SessionStatus::start, static_cast<std::int64_t>(event.first_step) + 1);
    written_.reset();
    examples_ = 0;
    since_ = Clock::now();
  }

  template <class = void> void on_step(const StepDone& event) {
    examples_ += event.examples;
    if (written_ && event.step < *written_ + every_steps_) return;
    const auto now = Clock::now();
    const std::chrono::duration<double> spent = now - since_;
    const auto step = static_cast<std::int64_t>(event.step);
    writer_->scalar("loss", step, event.loss);
    if (written_ && spent.count() > 0)
      writer_->scalar("examples_per_second", step, static_cast<float>(static_cast<double>(examples_) / spent.count()));
    writer_->flush();
    written_ = event.step;
    since_ = now;
    examples_ = 0;
  }

  template <class = void> void on_evaluated(const Evaluated& event) {
    for (const auto& [name, value] : event.metrics.values())
      writer_->scalar("evaluation/" + name, static_cast<std::int64_t>(event.step), static_cast<float>(value));
    writer_->flush();
  }

  template <class = void> void on_end(const JobEnd&) { writer_->close(); }

 private:
  using Clock = std::chrono::steady_clock;

  std::string directory_;
  std::uint64_t every_steps_;
  std::shared_ptr<EventWriter> writer_;
  std::optional<Step> written_;
  Clock::time_point since_{};
  std::uint64_t examples_ = 0;
};

}  // namespace distrib::inline v0
