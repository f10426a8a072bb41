// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/environment.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>

#include <cstdint>
#include <map>
#include <optional>
#include <string>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A task of a Slurm step: its cluster and its position there.
struct SlurmTask {
  ClusterSpec cluster;  ///< All tasks of the step. Jobs are sorted by name.
  TaskId task;  ///< This process.
  std::uint32_t rank = 0;  ///< Rank in the step.
  std::uint32_t local_rank = 0;  ///< Rank among the tasks on its host.

  /// This task's share of the GPUs, for CUDA_VISIBLE_DEVICES: "2,3", or "" for no GPU. Set the variable before the
  /// program uses CUDA. Empty optional: leave the variable unchanged.
  std::optional<std::string> visible_devices;
};

/// Finds the cluster, and this process in it, from the environment that Slurm sets for each task of a step that `srun`
/// has started. Ranks are in the order of the node list, as Slurm assigns them. Jobs get ranks in the order of their
/// names: "ps" gets the first ones.
///
///     const SlurmTask me = SlurmResolver{.jobs = {{"ps", 2}, {"worker", 3}}}.resolve();
///
/// A pure function of its members and the environment. It starts no program: if CUDA_VISIBLE_DEVICES does not list the
/// GPUs, set `gpus_per_node`. A step of a heterogeneous job is like any other step: Slurm describes all its groups
/// together.
struct SlurmResolver {
  /// A host and its number of tasks in the step.
  struct Node {
    std::string host;  ///< Host name, as Slurm writes it.
    std::uint32_t tasks = 1;  ///< Number of tasks of the step on this host.

    [[nodiscard]] auto operator==(const Node&) const -> bool = default;
  };

  std::map<std::string, std::uint32_t> jobs = {};  ///< Number of tasks of each job. Empty: all tasks are "worker".
  /// Port of the first task on a host; each further task on that host has the next port.
  std::uint16_t port_base = 8888;
  /// Number of GPUs of each node. Empty: the number that CUDA_VISIBLE_DEVICES lists; unknown if that is not set.
  std::optional<std::uint32_t> gpus_per_node = {};
  /// Number of GPUs of each task. Empty: `gpus_per_node` divided by the largest number of tasks on a node, rounded
  /// down; if that is 0 or unknown, the tasks of a node share all its GPUs.
  std::optional<std::uint32_t> gpus_per_task = {};
  /// Number of tasks on each host of the step, instead of Slurm's counts.
  std::optional<std::uint32_t> tasks_per_node = {};
  /// Hosts and their numbers of tasks, in the order of the ranks, instead of Slurm's lists. Empty: Slurm's.
  std::vector<Node> nodes = {};
  bool auto_set_gpu = true;  ///< True: computes `SlurmTask::visible_devices`. False: leaves it empty.
  std::string rpc_layer = "grpc";  ///< For `master_url`.
  bool reserved_ports = true;  ///< True: uses the ports that `srun --resv-ports` has reserved, if it has reserved any.

  /// True: behaves as TensorFlow's resolver, also where that is wrong:
  /// - Hosts are sorted by name (n10 before n2), although ranks are not.
  /// - A host that is listed twice has only the tasks of its last entry.
  /// - Hosts without a count are ignored.
  /// - GPUs are numbered from 0, whatever CUDA_VISIBLE_DEVICES lists, and an empty list counts as one GPU.
  /// - A share of no GPU is an error (`no_gpu`).
  /// - Only the variables of the step are read, and reserved ports are ignored.
  bool as_tensorflow = false;

  /// Finds the task of this process.
  ///
  /// Errors (without `to` thrown as `std::system_error`): a `scheduler_errc`. `no_step`, `bad_variable` and
  /// `no_such_rank` name the variable; `task_count` and `gpu_count` name both numbers; `placed_elsewhere` names both
  /// hosts.
  [[nodiscard]] DISTRIB_DECL auto resolve(const Environment& environment, ErrorRef to) const -> SlurmTask;
  [[nodiscard]] auto resolve(const Environment& environment = Environment::of_process()) const -> SlurmTask {
    Error error;
    return detail::or_throw(resolve(environment, error), error);
  }
};

namespace detail {

/// Returns the number of tasks of each group of a heterogeneous job: 2, 3 for `srun ps : worker` with two and three
/// tasks. Empty if the job is not heterogeneous, or the step does not have all its groups.
[[nodiscard]] DISTRIB_DECL auto slurm_group_sizes(const Environment& environment) -> std::vector<std::uint32_t>;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/slurm_resolver.ipp>
#endif
