// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/error.hpp>
#include <distrib/cluster/roles.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/slice.hpp>
#include <distrib/core/variables.hpp>
#include <distrib/sharding/error.hpp>
#include <distrib/sharding/fixed_shards.hpp>
#include <distrib/sharding/part_slices.hpp>
#include <distrib/sharding/partitioner.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {

/// Refuses a cluster that TensorFlow 2's ParameterServerStrategy refuses. `cluster_errc::bad_role`: a job other than
/// chief, worker, ps and evaluator, or a second chief or evaluator. `cluster_errc::empty_job`: no task at all, no
/// worker or no ps.
inline void check_parameter_server_cluster(const ClusterSpec& cluster, std::error_code& ec) {
  check_role(cluster, {"evaluator", 0}, ec);  // the evaluator may be outside of the cluster
  for (const std::string_view job : {"worker", "ps"})
    if (const auto* tasks = cluster.find(job); !ec && (tasks == nullptr || tasks->empty()))
      ec = cluster_errc::empty_job;
}
DISTRIB_DECL void check_parameter_server_cluster(const ClusterSpec& cluster);

/// Returns the devices that a task of `job` sees besides its own. A worker sees ps and chief, a ps sees workers and
/// chief, so that the failure of one worker does not affect another. Empty for other jobs: they see all devices.
[[nodiscard]] inline auto parameter_server_device_filters(std::string_view job) -> std::vector<std::string> {
  if (job == "worker") return {"/job:ps", "/job:chief"};
  if (job == "ps") return {"/job:worker", "/job:chief"};
  return {};
}

}  // namespace detail

/// A variable, or one shard of a variable that is cut, and its device.
struct PlacedVariable {
  std::string name;  ///< For a shard with its number: "emb/part_1".
  Slice slice;  ///< The whole variable, or the rows of a shard.
  std::string device;  ///< For example "/job:ps/task:1/device:CPU:0".

  [[nodiscard]] auto operator==(const PlacedVariable&) const -> bool = default;
};

/// Where TensorFlow 2's ParameterServerStrategy places variables (parameter_server_strategy_v2.py): each variable, and
/// each shard of a variable that `P` cuts, goes to the CPU of the next ps task in turn. If the numbers of the ps tasks
/// have gaps, only existing tasks get turns. All processes must create the same variables in the same order. A value.
///
/// Threads: one at a time.
template <Partitioner P> class ParameterServerStrategy {
 public:
  /// Errors: `cluster_errc::bad_role` for a job other than chief, worker, ps and evaluator, or a second chief or
  /// evaluator; `empty_job` if there is no worker or no ps. After that `create` fails with `cluster_errc::empty_job`.
  ParameterServerStrategy(const ClusterSpec& cluster, P partitioner, std::error_code& ec)
      : partitioner_{std::move(partitioner)} {
    detail::check_parameter_server_cluster(cluster, ec);
    if (!ec) tasks_ = cluster.task_indices("ps", ec);
  }
  /// This overload throws the error as `std::system_error`.
  explicit ParameterServerStrategy(const ClusterSpec& cluster, P partitioner = {})
      : partitioner_{std::move(partitioner)} {
    detail::check_parameter_server_cluster(cluster);
    tasks_ = cluster.task_indices("ps");
  }

  /// Places a variable: as a whole if it is a scalar or the partitioner returns 1, otherwise its shards in order. If
  /// the partitioner wants more shards than there are rows, there is one shard for each row. Errors:
  /// `sharding_errc::not_axis_0` if the partitioner cuts another axis, `not_positive` if it returns fewer than one
  /// part, `cluster_errc::empty_job` if the constructor failed; no turn is used then. Throws what the partitioner
  /// throws.
  [[nodiscard]] auto create(const VariableInfo& variable, std::error_code& ec) -> std::vector<PlacedVariable> {
    ec.clear();
    if (tasks_.empty()) ec = cluster_errc::empty_job;
    if (ec) return {};
    Partition partition;
    if (variable.shape.rank() > 0) partition = partitioner_.partition(variable.shape, variable.dtype);
    if (partition.parts > 1 && partition.axis != 0) ec = sharding_errc::not_axis_0;
    else if (partition.parts > 1) partition.parts = std::clamp<std::int64_t>(variable.shape[0], 1, partition.parts);
    std::vector<PlacedVariable> placed;
    if (ec) return placed;
    const std::vector<Slice> slices = part_slices(variable.shape, partition, ec);
    for (std::size_t part = 0; part < slices.size(); ++part)
      placed.push_back({slices.size() == 1 ? variable.name : part_name(variable.name, part), slices[part], next()});
    return placed;
  }
  /// This overload throws the error as `std::system_error`.
  [[nodiscard]] auto create(const VariableInfo& variable) -> std::vector<PlacedVariable> {
    std::error_code ec;
    auto placed = create(variable, ec);
    if (ec) throw_error(ec, "the parts of variable '" + variable.name + "' of shape " + to_string(variable.shape));
    return placed;
  }

  /// Places a variable on the device of `with`, as slots of an optimizer are placed: it is never cut, and uses no turn.
  [[nodiscard]] auto create_colocated(const VariableInfo& variable, const PlacedVariable& with) const
      -> PlacedVariable {
    return {variable.name, Slice::whole(variable.shape), with.device};
  }

 private:
  auto next() -> std::string {
    const std::uint32_t task = tasks_[turn_++ % tasks_.size()];
    return "/job:ps/task:" + std::to_string(task) + "/device:CPU:0";
  }

  P partitioner_;
  std::vector<std::uint32_t> tasks_;
  std::size_t turn_ = 0;
};

/// Without a partitioner no variable is cut.
ParameterServerStrategy(const ClusterSpec&) -> ParameterServerStrategy<FixedShardsPartitioner>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/tf/impl/parameter_server_strategy.ipp>
#endif
