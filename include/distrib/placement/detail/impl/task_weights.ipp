// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/placement/detail/task_weights.hpp>

#include <distrib/placement/error.hpp>

#include <cstddef>
#include <string>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void check_weights(std::span<const std::uint32_t> weights, std::uint32_t num_tasks) {
  if (weights.empty()) return;
  if (weights.size() != num_tasks)
    throw_error(placement_errc::wrong_number_of_weights,
                std::to_string(weights.size()) + " weights for " + std::to_string(num_tasks) + " tasks");
  for (std::size_t task = 0; task < weights.size(); ++task)
    if (weights[task] == 0) throw_error(placement_errc::zero_weight, "task " + std::to_string(task));
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
