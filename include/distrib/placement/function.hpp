// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/placement/strategy.hpp>

#include <concepts>
#include <cstdint>
#include <type_traits>
#include <utility>

namespace distrib {
inline namespace v0 {

/// A strategy made of a function of the user's: `FunctionStrategy{[](const PlacementRequest& request, std::uint32_t
/// num_tasks) { ... }}` (TensorFlow's `ps_strategy`). The function has to be what the concept asks of `place`: its
/// answers follow from the requests so far and from nothing else. One thread at a time.
template <class F>
  requires std::invocable<F&, const PlacementRequest&, std::uint32_t> &&
           std::integral<std::invoke_result_t<F&, const PlacementRequest&, std::uint32_t>>
class FunctionStrategy {
 public:
  explicit FunctionStrategy(F function) : function_{std::move(function)} {}

  /// What the function answers; what is no task is refused by whoever asked.
  [[nodiscard]] auto place(const PlacementRequest& request, std::uint32_t num_tasks) -> std::uint32_t {
    const auto task = static_cast<std::int64_t>(function_(request, num_tasks));
    return task >= 0 && task < num_tasks ? static_cast<std::uint32_t>(task) : num_tasks;
  }

 private:
  [[no_unique_address]] F function_;
};

}  // namespace v0
}  // namespace distrib
