// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/placement/strategy.hpp>

#include <algorithm>
#include <concepts>
#include <cstddef>
#include <cstdint>
#include <span>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// Load of a variable by its size in bytes. A scalar counts one element, an empty variable nothing; text counts
/// nothing, because its size is not known.
struct ByteSizeLoad {
  [[nodiscard]] auto operator()(const PlacementRequest& request) const noexcept -> double {
    return static_cast<double>(request.shape.elements()) * static_cast<double>(size_bytes(request.dtype));
  }
  [[nodiscard]] auto operator==(const ByteSizeLoad&) const -> bool = default;
};

/// `GreedyLoadBalancingStrategy{byte_size_load}` balances memory and traffic.
inline constexpr ByteSizeLoad byte_size_load{};

/// The task with the smallest load so far, the lowest index among equals; then `load(request)` is added to it. The
/// order in which variables are made decides.
template <class Load>
  requires std::invocable<Load&, const PlacementRequest&>
class GreedyLoadBalancingStrategy {
 public:
  explicit GreedyLoadBalancingStrategy(Load load) : load_{std::move(load)} {}

  [[nodiscard]] auto place(const PlacementRequest& request, std::uint32_t num_tasks) -> std::uint32_t {
    loads_.resize(num_tasks);
    const auto lowest = std::min_element(loads_.begin(), loads_.end());
    *lowest += static_cast<double>(load_(request));
    return static_cast<std::uint32_t>(lowest - loads_.begin());
  }

  /// What each task carries so far; empty before the first call of `place`.
  [[nodiscard]] auto loads() const noexcept -> std::span<const double> { return loads_; }

 private:
  [[no_unique_address]] Load load_;
  std::vector<double> loads_;
};

}  // namespace distrib::inline v0
