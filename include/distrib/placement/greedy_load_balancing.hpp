// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/placement/detail/task_weights.hpp>
#include <distrib/placement/strategy.hpp>

#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Measures a variable by its size in bytes. A scalar counts as one element, an empty variable as 0.
struct ByteSizeLoad {
  std::size_t bytes_per_string = 0;  ///< Assumed size of an element of type string; TensorFlow 1 used 8.

  /// Returns the size of the variable in bytes.
  [[nodiscard]] auto operator()(const PlacementRequest& request) const noexcept -> double {
    const std::size_t bytes = request.dtype == DType::string ? bytes_per_string : size_bytes(request.dtype);
    return static_cast<double>(request.shape.elements()) * static_cast<double>(bytes);
  }
  [[nodiscard]] auto operator==(const ByteSizeLoad&) const -> bool = default;
};

/// `GreedyLoadBalancingStrategy{byte_size_load}` balances memory and network traffic.
inline constexpr ByteSizeLoad byte_size_load{};

namespace detail {

/// Measures every variable as 1.
struct UnitLoad {
  /// Returns 1.
  [[nodiscard]] auto operator()(const PlacementRequest&) const noexcept -> double { return 1; }
  [[nodiscard]] auto operator==(const UnitLoad&) const -> bool = default;
};

}  // namespace detail

/// `GreedyLoadBalancingStrategy{unit_load}` is round robin. `{unit_load, {2, 1}}` is round robin with weights: task 0
/// gets two variables for each one of task 1.
inline constexpr detail::UnitLoad unit_load{};

/// Chooses the task with the smallest load so far, the lowest index among equal ones, then adds `load(request)` to its
/// load. With weights (one per task) a load is divided by the task's weight before it is compared: a task of weight 2
/// gets twice as much as a task of weight 1. The result depends on the order in which variables are created.
template <class Load>
  requires std::invocable<Load&, const PlacementRequest&>
class GreedyLoadBalancingStrategy {
 public:
  /// `load`: measures a variable. `weights`: how much each task can take, one number for each task; empty: all the
  /// same. `place` checks the weights.
  explicit GreedyLoadBalancingStrategy(Load load, std::vector<std::uint32_t> weights = {})
      : load_{std::move(load)}, weights_{std::move(weights)} {}

  /// Returns the task for the next variable, and adds the variable's load to that task. Throws `std::system_error` with
  /// `placement_errc::wrong_number_of_weights` if there are weights, but not one for each of `num_tasks` tasks, or with
  /// `zero_weight` if a weight is 0.
  [[nodiscard]] auto place(const PlacementRequest& request, std::uint32_t num_tasks) -> std::uint32_t {
    detail::check_weights(weights_, num_tasks);
    loads_.resize(num_tasks);
    std::uint32_t lowest = 0;
    for (std::uint32_t task = 1; task < num_tasks; ++task)
      if (weighted_load(task) < weighted_load(lowest)) lowest = task;
    loads_[lowest] += static_cast<double>(load_(request));
    return lowest;
  }

  /// Returns the load of each task so far, not divided by its weight; empty before the first call of `place`.
  [[nodiscard]] auto loads() const noexcept -> std::span<const double> { return loads_; }

 private:
  [[nodiscard]] auto weighted_load(std::uint32_t task) const noexcept -> double {
    return weights_.empty() ? loads_[task] : loads_[task] / weights_[task];
  }

  [[no_unique_address]] Load load_;
  std::vector<std::uint32_t> weights_;
  std::vector<double> loads_;
};

}  // namespace v0
}  // namespace distrib
