// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/hooks/train_job_progress.hpp>

#include <distrib/core/json_text.hpp>
#include <distrib/core/shortest_text.hpp>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstddef>
#include <ctime>
#include <limits>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

// RFC 3339, in UTC and whole seconds, as Kubernetes writes times.
[[nodiscard]] inline auto kubernetes_time(std::chrono::system_clock::time_point time) -> std::string {
  const std::time_t seconds = std::chrono::system_clock::to_time_t(time);
  std::tm parts{};
  gmtime_r(&seconds, &parts);
  std::array<char, 32> text{};
  return {text.data(), std::strftime(text.data(), text.size(), "%Y-%m-%dT%H:%M:%SZ", &parts)};
}

}  // namespace detail

DISTRIB_DECL void TrainJobProgress::started(const JobStart& event, Instant now) {
  *this = {};
  first_ = step_ = event.first_step;
  last_ = event.last_step;
  began_ = now;
}

DISTRIB_DECL void TrainJobProgress::stepped(const StepDone& event) {
  step_ = event.step;
  examples_ += event.examples;
  loss_ = event.loss;
}

DISTRIB_DECL void TrainJobProgress::evaluated(const Evaluated& event) {
  for (const auto& [name, value] : event.metrics.values()) measured_[name.substr(0, 64)] = value;
}

DISTRIB_DECL void TrainJobProgress::ended(const TrainingResult& result) {
  step_ = result.complete ? last_ : std::max(step_, result.steps);
  if (!std::isnan(result.loss)) loss_ = result.loss;
  for (const auto& [name, value] : result.metrics.values()) measured_[name.substr(0, 64)] = value;
}

DISTRIB_DECL auto TrainJobProgress::percent() const noexcept -> int {
  if (last_ == 0) return 100;
  return static_cast<int>(std::min(step_, last_) * 100 / last_);
}

DISTRIB_DECL auto TrainJobProgress::seconds_left(Instant now) const noexcept -> std::optional<std::int32_t> {
  if (step_ >= last_) return 0;
  if (step_ <= first_) return std::nullopt;
  const double seconds = std::chrono::duration<double>(now - began_).count();
  const double left = seconds / static_cast<double>(step_ - first_) * static_cast<double>(last_ - step_);
  return static_cast<std::int32_t>(std::min(std::ceil(left), double{std::numeric_limits<std::int32_t>::max()}));
}

DISTRIB_DECL auto TrainJobProgress::json(Instant now, std::chrono::system_clock::time_point clock) const
    -> std::string {
  constexpr std::size_t most = 256;
  std::vector<std::pair<std::string, std::string>> numbers{{"step", std::to_string(step_)}};
  const auto add = [&](const std::string& name, auto value) {
    if (!std::isnan(value) && numbers.size() < most) numbers.emplace_back(name, detail::shortest_text(value));
  };
  if (loss_) add("loss", *loss_);
  const double seconds = std::chrono::duration<double>(now - began_).count();
  if (examples_ > 0 && seconds > 0) add("examples_per_second", std::round(static_cast<double>(examples_) / seconds));
  for (const auto& [name, value] : measured_)
    if (!name.empty() && name != "step" && name != "loss") add(name, value);

  JsonObject status;
  status.add("progressPercentage", percent());
  if (const auto left = seconds_left(now)) status.add("estimatedRemainingSeconds", *left);
  status.add_json("metrics", json_array(numbers, [](const auto& number) {
                    return JsonObject{}.add("name", number.first).add("value", number.second).text();
                  }));
  status.add("lastUpdatedTime", detail::kubernetes_time(clock));
  return JsonObject{}.add_json("trainerStatus", status.text()).text();
}

}  // namespace v0
}  // namespace distrib
