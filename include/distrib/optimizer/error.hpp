// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why an updater cannot be trained with.
enum class optimizer_errc {
  /// `initial_accumulator_value` is not positive, but the updater divides by its root. Make it positive.
  accumulator_not_positive = 1,
  negative,  ///< A strength such as l1, l2, l2_shrinkage or weight_decay is below 0. Make it 0 or more.
  positive_power,  ///< `learning_rate_power` is above 0. Make it -0.5, or another number up to 0.
  /// The learning rate cannot be computed: an interval of 0 steps, milestones that do not ascend, or a share or divisor
  /// outside its range. The contract of the schedule says what its members may be.
  bad_schedule,
  bad_decay,  ///< The decay of a moving average is not from 0 to below 1. Make it 0.999, or another number below 1.
  clipping_not_positive,  ///< The bound of a gradient clipping is not positive and finite. Make it so, or do not clip.
  dampened_nesterov,  ///< `use_nesterov` and a `dampening` that is not 0. Leave out one of them.
};

namespace detail {
inline constexpr ErrorText optimizer_texts[] = {
    {optimizer_errc::accumulator_not_positive, failure::invalid_argument,
     "initial_accumulator_value must be positive: use 0.1, or another number above 0"},
    {optimizer_errc::negative, failure::invalid_argument,
     "hyper-parameters such as l1, l2 and weight_decay must be 0 or more"},
    {optimizer_errc::positive_power, failure::invalid_argument,
     "learning_rate_power must be 0 or less: use -0.5, or another number up to 0"},
    {optimizer_errc::bad_schedule, failure::invalid_argument,
     "the schedule of the learning rate has a number outside its range"},
    {optimizer_errc::bad_decay, failure::invalid_argument, "the decay of a moving average must be from 0 to below 1"},
    {optimizer_errc::clipping_not_positive, failure::invalid_argument,
     "the bound of a gradient clipping must be positive and finite: use another number, or leave out the clipping"},
    {optimizer_errc::dampened_nesterov, failure::invalid_argument, "use_nesterov needs a dampening of 0"},
};

/// Returns the category "distrib.optimizer".
[[nodiscard]] inline auto optimizer_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.optimizer", optimizer_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(optimizer_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::optimizer_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::optimizer_errc> : std::true_type {};
