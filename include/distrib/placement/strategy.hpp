// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/dtype.hpp>
#include <distrib/core/shape.hpp>

#include <concepts>
#include <cstdint>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// A variable to place, or one part of a variable that was divided.
struct PlacementRequest {
  std::string_view name{};  ///< "hidden/weights", "hidden/weights/part_1".
  DType dtype = DType::float32;  ///< Element type.
  Shape shape{};  ///< Shape of the variable or part.
};

namespace detail {
template <class S>
concept PlacesVariables = requires(S& strategy, const PlacementRequest& request, std::uint32_t num_tasks) {
  { strategy.place(request, num_tasks) } -> std::convertible_to<std::uint32_t>;
};
}  // namespace detail

/// Chooses parameter server tasks: a copyable type with
/// `place(const PlacementRequest& request, std::uint32_t num_tasks) -> std::uint32_t`, which returns the task, below
/// `num_tasks`, for the next variable. A value that contains its own state; a copy continues from the state of the
/// original.
///
/// Semantics: the results depend only on the requests so far (not on time, chance or addresses), so processes that
/// place the same variables in the same order agree. `num_tasks` is at least 1, and the same in every call.
template <class S>
concept PlacementStrategy = std::copy_constructible<S> && detail::PlacesVariables<S>;

namespace detail {
/// Reports one sentence for each thing that `S` lacks. For the twins of functions that take a PlacementStrategy.
template <class S> constexpr void explain_placement_strategy() {
  // a variable of its own, so that compilers do not add why the concept failed
  constexpr bool places = PlacesVariables<S>;
  constexpr bool copies = std::copy_constructible<S>;
  static_assert(places,
                "distrib: a PlacementStrategy needs place(const distrib::PlacementRequest&, std::uint32_t num_tasks) "
                "that returns the index of a ps task; distrib::FunctionStrategy makes one from a function");
  static_assert(copies, "distrib: a PlacementStrategy must be copyable");
}
}  // namespace detail

}  // namespace v0
}  // namespace distrib
