// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/write_summaries.hpp>

#include <distrib/core/error.hpp>

#include <cerrno>
#include <cmath>
#include <cstdio>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void WriteSummaries::on_start(const JobStart& event) {
  writer_ = nullptr;
  written_.reset();
  examples_ = 0;
  since_ = Clock::now();
  std::error_code ec;
  const bool begins = open(ec);
  // If an earlier run was killed after `first_step`, this makes TensorBoard drop what that run wrote for later steps.
  const auto first = static_cast<std::int64_t>(event.first_step);
  if (!ec) writer_->session_log(SessionStatus::start, first + 1, {}, ec);
  write_out(ec, begins);
}

DISTRIB_DECL void WriteSummaries::on_step(const StepDone& event) {
  examples_ += event.examples;
  if (written_ && event.step < *written_ + every_steps_) return;
  const auto now = Clock::now();
  const std::chrono::duration<double> spent = now - since_;
  std::error_code ec;
  const bool begins = open(ec);
  const auto step = static_cast<std::int64_t>(event.step);
  if (!ec) writer_->scalar("loss", step, event.loss, {}, ec);
  if (!ec && !std::isnan(event.gradient_norm)) writer_->scalar("gradient_norm", step, event.gradient_norm, {}, ec);
  const auto rate = static_cast<float>(static_cast<double>(examples_) / spent.count());
  if (!ec && written_ && spent.count() > 0) writer_->scalar("examples_per_second", step, rate, {}, ec);
  write_out(ec, begins);
  written_ = event.step;
  since_ = now;
  examples_ = 0;
}

DISTRIB_DECL void WriteSummaries::on_evaluated(const Evaluated& event) {
  std::error_code ec;
  const bool begins = open(ec);
  const auto step = static_cast<std::int64_t>(event.step);
  for (const auto& [name, value] : event.metrics.values())
    if (!ec) writer_->scalar("evaluation/" + name, step, static_cast<float>(value), {}, ec);
  write_out(ec, begins);
}

DISTRIB_DECL auto WriteSummaries::open(std::error_code& ec) -> bool {
  if (writer_) return false;
  writer_ = std::make_shared<EventWriter>(directory_, ec);
  return true;
}

// Passes what was added since `open` to the system. `ec`, `begins`: the results of `open` and of adding. If the disk is
// full, reports it and drops the writer, and also the file if `open` has just started it; the next `open` starts
// another file. Throws any other error.
DISTRIB_DECL void WriteSummaries::write_out(std::error_code ec, bool begins, bool last) {
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
                  "no space for summaries in " + directory_ + " (" + ec.message() +
                      "): the training continues without them; when there is space again, they continue in a new file"};
}

}  // namespace v0
}  // namespace distrib
