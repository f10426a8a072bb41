// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/placement/random.hpp>

#include <distrib/placement/detail/task_weights.hpp>

#include <cstddef>
#include <numeric>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto RandomStrategy::place(const PlacementRequest& request, std::uint32_t num_tasks) const
    -> std::uint32_t {
  detail::check_weights(weights, num_tasks);
  const std::uint64_t modulus =
      weights.empty() ? num_tasks : std::accumulate(weights.begin(), weights.end(), std::uint64_t{0});
  // Exact while the modulus is below 2^56, which is the sum for 16 million tasks with the largest weight.
  std::uint64_t rest = 0;
  for (const std::byte byte : digest(request.name)) rest = (rest * 256 + static_cast<std::uint64_t>(byte)) % modulus;
  if (weights.empty()) return static_cast<std::uint32_t>(rest);
  std::uint32_t task = 0;
  for (; rest >= weights[task]; ++task) rest -= weights[task];
  return task;
}

}  // namespace v0
}  // namespace distrib
