// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/event.hpp>
#include <distrib/ps/job/replies.hpp>

#include <chrono>
#include <optional>
#include <string>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Decides when a wait for records is told to the hooks: once, when it has taken a second. A value.
class DataWait {
 public:
  using Clock = std::chrono::steady_clock;
  static constexpr std::chrono::seconds patience{1};

  /// The records of `step` are there, or not. Returns true if `event` is to be told now.
  [[nodiscard]] auto is_worth_telling(Step step, bool is_there, Clock::time_point now = Clock::now()) -> bool {
    if (is_there) {
      if (step >= step_) since_.reset();
      return false;
    }
    if (!since_ || step > step_) {
      since_ = now;
      is_told_ = false;
    }
    step_ = step;
    return now - *since_ >= patience && !std::exchange(is_told_, true);
  }

  /// The event for the hooks: `Event::Kind::waiting`, for the peer "data".
  [[nodiscard]] auto event(const std::string& task) const -> Event {
    return {Event::Kind::waiting, task, "data", {}, "waits for the records of step " + std::to_string(step_)};
  }

 private:
  Step step_ = 0;
  std::optional<Clock::time_point> since_;
  bool is_told_ = false;
};

}  // namespace v0
}  // namespace distrib
