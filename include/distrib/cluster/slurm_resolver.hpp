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

/// What a Slurm step is to one of its tasks.
struct SlurmTask {
  ClusterSpec cluster;           ///< Its jobs, in the order of their names.
  TaskId task;                   ///< This process.
  std::uint32_t rank = 0;        ///< Its number in the step,
  std::uint32_t local_rank = 0;  ///< and on its host.

  /// This task's share of the GPUs, for CUDA_VISIBLE_DEVICES: "2,3", or "" for none of them. Set it before CUDA is
  /// used. Empty optional: leave that variable as it is.
  std::optional<std::string> visible_devices;
};

/// Finds a cluster, and this process in it, by what Slurm tells each task of a step that `srun` has started. Ranks
/// stand in the order of the node list, as Slurm hands them out; jobs in the order of their names: "ps" has the first
/// ones.
///
///     const SlurmTask me = SlurmResolver{.jobs = {{"ps", 2}, {"worker", 3}}}.resolve();
///
/// A pure function of its members and the environment. It starts no program, so that GPUs which CUDA_VISIBLE_DEVICES
/// does not list must be told. Steps of heterogeneous jobs are steps like others: Slurm describes all their groups
/// together.
struct SlurmResolver {
  /// How many tasks of a step a host has.
  struct Node {
    std::string host;
    std::uint32_t tasks = 1;

    [[nodiscard]] auto operator==(const Node&) const -> bool = default;
  };

  std::map<std::string, std::uint32_t> jobs = {};    ///< Tasks of each job; empty: all are "worker".
  std::uint16_t port_base = 8888;                    ///< The port of a host's first task; the next has the next one.
  std::optional<std::uint32_t> gpus_per_node = {};   ///< Not given: as many as CUDA_VISIBLE_DEVICES lists.
  std::optional<std::uint32_t> gpus_per_task = {};  ///< Not given: a node's in as many parts as it has tasks at most.
  std::optional<std::uint32_t> tasks_per_node = {};  ///< So many on each host of the step, instead of Slurm's.
  std::vector<Node> nodes = {};  ///< Hosts and their tasks in the order of ranks, not Slurm's.
  bool auto_set_gpu = true;  ///< Whether `visible_devices` is wanted.
  std::string rpc_layer = "grpc";  ///< For `master_url`.
  bool reserved_ports = true;  ///< Take what `srun --resv-ports` has reserved, if it has.

  /// Does as TensorFlow's resolver where that goes astray: hosts in the order of their names, whatever the ranks are
  /// (n10 before n2); a host that is listed twice has the tasks of its last time only; hosts without a count are left
  /// out; GPUs are numbered from 0, whatever their numbers are; an empty CUDA_VISIBLE_DEVICES is one GPU; a share of no
  /// GPU fails; only variables of the step are looked at.
  bool as_tensorflow = false;

  /// Fails with a `scheduler_errc`: `no_step`, `bad_variable`, `no_such_rank` name the variable, `task_count` and
  /// `gpu_count` both numbers, `placed_elsewhere` both hosts.
  [[nodiscard]] DISTRIB_DECL auto resolve(const Environment& environment, ErrorRef to) const -> SlurmTask;
  [[nodiscard]] auto resolve(const Environment& environment = Environment::of_process()) const -> SlurmTask {
    Error error;
    return detail::or_throw(resolve(environment, error), error);
  }
};

namespace detail {

/// How many of a step's tasks each group of a heterogeneous job has, as `srun ps : worker` starts them: 2, 3. Empty
/// when the job is not heterogeneous, or the step is not one of all its groups.
[[nodiscard]] DISTRIB_DECL auto slurm_group_sizes(const Environment& environment) -> std::vector<std::uint32_t>;

}  // namespace detail

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/slurm_resolver.ipp>
#endif
