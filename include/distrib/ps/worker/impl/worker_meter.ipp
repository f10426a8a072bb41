// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/worker/worker_meter.hpp>

#include <distrib/core/shortest_text.hpp>
#include <distrib/ps/job/job.hpp>

#include <algorithm>
#include <cmath>
#include <cstddef>
#include <string_view>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void WorkerMeter::spent(const Phase& phase) {
  const auto found = std::find(timed.begin(), timed.end(), phase.kind);
  if (!phase.is_rank || found == timed.end()) return;
  const std::lock_guard lock{mutex_};
  times_[static_cast<std::size_t>(found - timed.begin())] += phase.end - phase.begin;
}

DISTRIB_DECL void WorkerMeter::contributed(Rank rank, Step step, float loss) {
  const std::lock_guard lock{mutex_};
  ++contributions_;
  Step& newest = newest_[rank];
  if (step <= newest) ++again_;
  newest = std::max(newest, step);
  loss_ = loss;
}

DISTRIB_DECL void WorkerMeter::has_read(std::chrono::nanoseconds time) {
  const std::lock_guard lock{mutex_};
  reading_ = time;
}

DISTRIB_DECL void WorkerMeter::replay_changed(std::int64_t bytes) {
  const std::lock_guard lock{mutex_};
  replay_bytes_ += bytes;
}

DISTRIB_DECL void WorkerMeter::serves(std::size_t ranks) {
  const std::lock_guard lock{mutex_};
  ranks_ = ranks;
}

DISTRIB_DECL void WorkerMeter::reached(Step step) {
  const std::lock_guard lock{mutex_};
  step_ = step;
}

DISTRIB_DECL void WorkerMeter::told(const Event& event) {
  if (event.kind != Event::Kind::lost) return;
  const std::lock_guard lock{mutex_};
  ++lost_;
}

DISTRIB_DECL auto WorkerMeter::text() const -> std::string {
  const std::lock_guard lock{mutex_};
  const std::string index = std::to_string(worker_);
  const std::string label = "worker=\"" + index + (is_rank_ ? "\",rank=\"" + index : "") + '"';
  std::string text;
  const auto metric = [&](std::string_view name, std::string_view type, std::string_view help) {
    text.append("# HELP distrib_worker_").append(name).append(" ").append(help).append("\n");
    text.append("# TYPE distrib_worker_").append(name).append(" ").append(type).append("\n");
  };
  const auto sample = [&](std::string_view name, const std::string& labels, const std::string& value) {
    text.append("distrib_worker_").append(name).append("{").append(labels).append("} ").append(value).append("\n");
  };
  const auto number = [&](std::string_view name, std::string_view type, std::string_view help, std::uint64_t value) {
    metric(name, type, help);
    sample(name, label, std::to_string(value));
  };
  number("step", "gauge", "Steps of the job that are done; in an asynchronous job: contributions counted.", step_);
  if (total_steps_ != open_end) number("total_steps", "gauge", "Steps of the job.", total_steps_);
  number("ranks", "gauge", "Ranks that the process serves.", ranks_);
  number("contributions_total", "counter", "Contributions made, those that were made again included.", contributions_);
  number("contributions_again_total", "counter", "Contributions that this process has made before, and made again.",
         again_);
  number("examples_total", "counter", "Examples in these contributions.", contributions_ * examples_);
  number("connections_lost_total", "counter", "Connections to parameter servers that were lost.", lost_);
  metric("replay_bytes", "gauge", "Bytes of contributions that are kept to be sent again.");
  sample("replay_bytes", label, std::to_string(replay_bytes_));
  metric("reading_seconds_total", "counter",
         "Seconds in which input was read and decoded, in the phase compute or while the values were on their way.");
  sample("reading_seconds_total", label, detail::shortest_text(std::chrono::duration<double>{reading_}.count()));
  metric("seconds_total", "counter", "Seconds in each phase of a step: compute, push, wait for others, pull.");
  for (std::size_t i = 0; i < timed.size(); ++i)
    sample("seconds_total", label + ",phase=\"" + std::string{to_string(timed[i])} + '"',
           detail::shortest_text(std::chrono::duration<double>{times_[i]}.count()));
  if (contributions_ != 0) {
    metric("loss", "gauge", "Loss of the newest contribution.");
    sample("loss", label,
           std::isnan(loss_)   ? "NaN"
           : std::isinf(loss_) ? (loss_ > 0 ? "+Inf" : "-Inf")
                               : detail::shortest_text(loss_));
  }
  return text;
}

}  // namespace v0
}  // namespace distrib
