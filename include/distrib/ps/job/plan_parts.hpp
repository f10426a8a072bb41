// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/variable_info.hpp>
#include <distrib/placement/greedy_load_balancing.hpp>
#include <distrib/placement/strategy.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/sharding/part_slices.hpp>
#include <distrib/sharding/partitioner.hpp>

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Divides every variable into parts and assigns each part to a shard: the partitioner divides, the strategy chooses
/// the ps task, and of that task's shards the one with the fewest bytes so far gets the part. A function of its
/// arguments, so all processes of a job make the same plan. Throws what the partitioner throws, and
/// `ps_errc::no_such_task` with the name of the part if the strategy names a task that does not exist.
template <Partitioner Cut, PlacementStrategy Placement>
[[nodiscard]] auto plan_parts(std::span<const VariableInfo> variables, const Cut& partitioner, Placement placement,
                              std::uint32_t tasks, std::uint32_t shards_per_task) -> std::vector<Part> {
  std::vector<GreedyLoadBalancingStrategy<ByteSizeLoad>> within(tasks, GreedyLoadBalancingStrategy{byte_size_load});
  std::vector<Part> parts;
  for (std::size_t v = 0; v < variables.size(); ++v) {
    const VariableInfo& variable = variables[v];
    const auto slices = part_slices(variable.shape, variable.dtype, partitioner);
    for (std::size_t i = 0; i < slices.size(); ++i) {
      const std::string name = slices.size() == 1 ? variable.name : part_name(variable.name, i);
      const PlacementRequest request{name, variable.dtype, slices[i].extents};
      const std::uint32_t task = placement.place(request, tasks);
      if (task >= tasks) throw_error(ps_errc::no_such_task, name + ": task " + std::to_string(task));
      parts.push_back({v, slices[i], task * shards_per_task + within[task].place(request, shards_per_task)});
    }
  }
  return parts;
}

}  // namespace v0
}  // namespace distrib
