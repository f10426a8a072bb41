// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/summary/event_writer.hpp>
#include <distrib/train/events.hpp>

#include <cerrno>
#include <chrono>
#include <cstdint>
#include <cstdio>
#include <memory>
#include <optional>
#include <string>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Writes TensorBoard event files: `loss` and `examples_per_second` after the first step and then every so many, and
/// `evaluation/NAME` of each metric. Every run of a job adds a file to the directory. What finds no room on the disk is
/// left out, and that is reported; any other failure ends the job.
class WriteSummaries {
 public:
  explicit WriteSummaries(std::string directory, std::uint64_t every_steps = 100)
      : directory_{std::move(directory)}, every_steps_{every_steps == 0 ? 1 : every_steps} {}

  template <class = void> void on_start(const JobStart& event) {
    writer_ = nullptr;
    written_.reset();
    examples_ = 0;
    since_ = Clock::now();
    std::error_code ec;
    const bool begins = open(ec);
    // TensorBoard drops what an earlier run, killed after this step, wrote beyond it.
    const auto first = static_cast<std::int64_t>(event.first_step);
    if (!ec && first > 0) writer_->session_log(SessionStatus::start, first + 1, {}, ec);
    write_out(ec, begins);
  }

  template <class = void> void on_step(const StepDone& event) {
    examples_ += event.examples;
    if (written_ && event.step < *written_ + every_steps_) return;
    const auto now = Clock::now();
    const std::chrono::duration<double> spent = now - since_;
    std::error_code ec;
    const bool begins = open(ec);
    const auto step = static_cast<std::int64_t>(event.step);
    if (!ec) writer_->scalar("loss", step, event.loss, {}, ec);
    const auto rate = static_cast<float>(static_cast<double>(examples_) / spent.count());
    if (!ec && written_ && spent.count() > 0) writer_->scalar("examples_per_second", step, rate, {}, ec);
    write_out(ec, begins);
    written_ = event.step;
    since_ = now;
    examples_ = 0;
  }

  template <class = void> void on_evaluated(const Evaluated& event) {
    std::error_code ec;
    const bool begins = open(ec);
    const auto step = static_cast<std::int64_t>(event.step);
    for (const auto& [name, value] : event.metrics.values())
      if (!ec) writer_->scalar("evaluation/" + name, step, static_cast<float>(value), {}, ec);
    write_out(ec, begins);
  }

  template <class = void> void on_end(const JobEnd&) {
    if (writer_) write_out({}, false, true);
  }

  /// That a disk without room is found, once until there is room again.
  [[nodiscard]] auto report() -> std::optional<Event> { return std::exchange(report_, std::nullopt); }

 private:
  using Clock = std::chrono::steady_clock;

  // Whether it begins a file.
  template <class = void> auto open(std::error_code& ec) -> bool {
    if (writer_) return false;
    writer_ = std::make_shared<EventWriter>(directory_, ec);
    return true;
  }

  // What was added since `open`, which `ec` and `begins` tell of. Where there is no room, another file is begun the next
  // time.
  template <class = void> void write_out(std::error_code ec, bool begins, bool last = false) {
    if (!ec) last ? writer_->close(ec) : writer_->flush(ec);
    is_full_ = is_full_ && ec;
    if (!ec) return;
    const auto failed = std::exchange(writer_, nullptr);
    if (ec.value() != ENOSPC && ec.value() != EDQUOT) throw_if(failed->error());
    if (begins) std::remove(failed->path().c_str());
    if (std::exchange(is_full_, true)) return;
    report_ = Event{Event::Kind::no_room,
                    {},
                    failed->error().where,
                    ec,
                    "no room for summaries in " + directory_ + " (" + ec.message() +
                        "): training goes on without them; with room again they go on in another file"};
  }

  std::string directory_;
  std::uint64_t every_steps_;
  std::shared_ptr<EventWriter> writer_;
  std::optional<Step> written_;
  Clock::time_point since_{};
  std::uint64_t examples_ = 0;
  bool is_full_ = false;
  std::optional<Event> report_;
};

}  // namespace v0
}  // namespace distrib
