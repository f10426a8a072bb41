// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <compare>
#include <cstdint>
#include <string>

namespace distrib {
inline namespace v0 {

/// Names one process of a cluster: its job and its index in that job. A value.
struct TaskId {
  std::string job;  ///< "ps", "worker", "chief", ...
  std::uint32_t index = 0;  ///< From 0.

  [[nodiscard]] auto operator<=>(const TaskId&) const = default;
};

/// Returns the task as a device: "/job:ps/task:0".
[[nodiscard]] inline auto to_string(const TaskId& task) -> std::string {
  return "/job:" + task.job + "/task:" + std::to_string(task.index);
}

}  // namespace v0
}  // namespace distrib
