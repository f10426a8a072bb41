// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/placement/strategy.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Makes a strategy of a user's function: `FunctionStrategy{[](const PlacementRequest& request, std::uint32_t
/// num_tasks) { ... }}` (TensorFlow's `ps_strategy`). The function must do what the concept requires of `place`: its
/// results depend only on the requests so far.
///
/// Threads: one at a time.
template <class F>
  requires std::invocable<F&, const PlacementRequest&, std::uint32_t> &&
           std::integral<std::invoke_result_t<F&, const PlacementRequest&, std::uint32_t>>
class FunctionStrategy {
 public:
  /// Makes the strategy that calls `function(request, num_tasks)`.
  explicit FunctionStrategy(F function) : function_{std::move(function)} {}

  /// Returns the function's result, or `num_tasks`, which the caller refuses, if that is no task.
  [[nodiscard]] auto place(const PlacementRequest& request, std::uint32_t num_tasks) -> std::uint32_t {
    const auto task = static_cast<std::int64_t>(function_(request, num_tasks));
    return task >= 0 && task < num_tasks ? static_cast<std::uint32_t>(task) : num_tasks;
  }

 private:
  [[no_unique_address]] F function_;
};

}  // namespace v0
}  // namespace distrib
