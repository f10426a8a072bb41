// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/placement/strategy.hpp>

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// Chooses tasks in turn: 0, 1, .., n-1, 0, ... The result depends on the order in which variables are created. For
/// tasks of different size see `unit_load`.
class RoundRobinStrategy {
 public:
  /// Returns the task after the one of the last call, first task 0, and task 0 again after the last one. `num_tasks`
  /// must not be 0 (not checked).
  [[nodiscard]] auto place(const PlacementRequest&, std::uint32_t num_tasks) noexcept -> std::uint32_t {
    const std::uint32_t task = next_ % num_tasks;
    next_ = task + 1;
    return task;
  }

  [[nodiscard]] auto operator==(const RoundRobinStrategy&) const -> bool = default;

 private:
  std::uint32_t next_ = 0;
};

}  // namespace v0
}  // namespace distrib
