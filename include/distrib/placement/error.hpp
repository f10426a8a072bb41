// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why a variable cannot be placed.
enum class placement_errc {
  no_such_task = 1,  ///< A strategy returned a task that does not exist. It must return a number below `num_tasks`.
  /// A strategy has weights for more or fewer tasks than there are. Give one weight for each task.
  wrong_number_of_weights,
  zero_weight,  ///< A task has weight 0. Give it at least 1, or remove it from the cluster.
};

namespace detail {
inline constexpr ErrorText placement_texts[] = {
    {placement_errc::no_such_task, failure::not_found,
     "the strategy returned a task that does not exist: it must return a number below num_tasks"},
    {placement_errc::wrong_number_of_weights, failure::mismatch,
     "one weight for each task is needed: give as many weights as there are tasks"},
    {placement_errc::zero_weight, failure::invalid_argument,
     "a weight must be at least 1: raise it, or remove the task from the cluster"},
};

/// Returns the category "distrib.placement".
[[nodiscard]] inline auto placement_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.placement", placement_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(placement_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::placement_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::placement_errc> : std::true_type {};
