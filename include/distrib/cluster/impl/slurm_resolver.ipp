// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/slurm_resolver.hpp>

#include <distrib/cluster/scheduler_error.hpp>
#include <distrib/cluster/slurm_host_list.hpp>
#include <distrib/core/host_port.hpp>
#include <distrib/core/shortest_text.hpp>

#include <algorithm>
#include <cstddef>
#include <initializer_list>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

// Returns the first of these variables that is set. If none is, fails with `no_step` and the first name.
DISTRIB_DECL auto slurm_text(const Environment& environment, std::initializer_list<const char*> names, Error& error)
    -> std::string_view {
  const std::string_view text = environment.first_of(names);
  if (text.empty() && !error) error = {scheduler_errc::no_step, *names.begin()};
  return text;
}

DISTRIB_DECL auto slurm_count(const Environment& environment, std::initializer_list<const char*> names, Error& error)
    -> std::uint32_t {
  const auto count = environment.number(names, error);
  if (!count && !error) error = {scheduler_errc::no_step, *names.begin()};
  return count.value_or(0);
}

DISTRIB_DECL auto slurm_hosts(const Environment& environment, bool step_only, Error& error)
    -> std::vector<std::string> {
  const std::string_view list =
      step_only ? slurm_text(environment, {"SLURM_STEP_NODELIST"}, error)
                : slurm_text(environment, {"SLURM_STEP_NODELIST", "SLURM_JOB_NODELIST", "SLURM_NODELIST"}, error);
  if (error) return {};
  auto hosts = expand_host_list(list, error);
  if (error) error.where = "node list " + error.where;
  return hosts;
}

DISTRIB_DECL auto slurm_nodes(const SlurmResolver& resolver, const Environment& environment, Error& error)
    -> std::vector<SlurmResolver::Node> {
  if (!resolver.nodes.empty()) return resolver.nodes;
  const bool step_only = resolver.as_tensorflow;
  std::vector<std::string> hosts = slurm_hosts(environment, step_only, error);
  std::vector<std::uint32_t> counts(hosts.size(), resolver.tasks_per_node.value_or(0));
  if (!error && !resolver.tasks_per_node) {
    const std::string_view list =
        step_only ? slurm_text(environment, {"SLURM_STEP_TASKS_PER_NODE"}, error)
                  : slurm_text(environment, {"SLURM_STEP_TASKS_PER_NODE", "SLURM_TASKS_PER_NODE"}, error);
    if (!error) counts = expand_tasks_per_node(list, error);
    if (!error && !step_only && counts.size() != hosts.size())
      error = {scheduler_errc::task_count,
               std::to_string(hosts.size()) + " hosts, but counts of tasks for " + std::to_string(counts.size())};
  }
  if (error) return {};
  std::vector<SlurmResolver::Node> nodes;
  for (std::size_t i = 0; i < std::min(hosts.size(), counts.size()); ++i)
    nodes.push_back({std::move(hosts[i]), counts[i]});
  return nodes;
}

// Sorts by host name; the last entry of a host counts. A dictionary with hosts as keys does the same.
DISTRIB_DECL void sort_slurm_nodes(std::vector<SlurmResolver::Node>& nodes) {
  std::map<std::string, std::uint32_t> sorted;
  for (const SlurmResolver::Node& node : nodes) sorted[node.host] = node.tasks;
  nodes.clear();
  for (const auto& [host, tasks] : sorted) nodes.push_back({host, tasks});
}

// The address of one task, and its rank on its host.
struct SlurmSeat {
  std::string address;
  const std::string* host;
  std::uint32_t local_rank;
};

// Returns a seat for each task. If a host is listed again, its local ranks continue.
DISTRIB_DECL auto slurm_seats(const SlurmResolver& resolver, const std::vector<SlurmResolver::Node>& nodes,
                              const Environment& environment, Error& error) -> std::vector<SlurmSeat> {
  const std::string reserved{resolver.reserved_ports && !resolver.as_tensorflow
                                 ? environment.first_of({"SLURM_STEP_RESV_PORTS"})
                                 : std::string_view{}};
  std::vector<std::string> ports;  // numbers and ranges have the form of a bracket in a host list
  if (reserved.find_first_of("[]") != std::string::npos) error.code = scheduler_errc::bad_variable;
  else if (!reserved.empty()) ports = expand_host_list('[' + reserved + ']', error);
  if (error) error = {scheduler_errc::bad_variable, "SLURM_STEP_RESV_PORTS=" + reserved.substr(0, 80)};
  std::vector<SlurmSeat> seats;
  std::map<std::string_view, std::uint32_t> used;
  for (const SlurmResolver::Node& node : nodes) {
    std::uint32_t& local_rank = used[node.host];
    for (std::uint32_t task = 0; task < node.tasks && !error; ++task, ++local_rank) {
      const std::uint32_t port = resolver.port_base + local_rank;
      if (ports.empty() ? port > 65'535 : local_rank >= ports.size())
        error = {scheduler_errc::bad_port, node.host + ": task " + std::to_string(local_rank)};
      else
        seats.push_back(
            {host_port(node.host, ports.empty() ? std::to_string(port) : ports[local_rank]), &node.host, local_rank});
    }
  }
  return seats;
}

// How the GPUs of a host are divided among its tasks.
struct SlurmGpus {
  std::vector<std::string_view> listed;  ///< The entries of CUDA_VISIBLE_DEVICES.
  std::optional<std::uint32_t> per_node;  ///< Empty: not known.
  std::optional<std::uint32_t> per_task;  ///< Empty: each task keeps the GPUs that it sees.

  /// Returns the GPUs of the task with this rank on its host.
  [[nodiscard]] DISTRIB_DECL auto share(std::uint32_t local_rank) const -> std::string;
};

DISTRIB_DECL auto SlurmGpus::share(std::uint32_t local_rank) const -> std::string {
  std::string text;
  for (std::uint32_t i = 0; i < *per_task; ++i) {
    const std::size_t gpu = std::size_t{local_rank} * *per_task + i;
    if (i > 0) text += ',';
    text += gpu < listed.size() ? std::string{listed[gpu]} : std::to_string(gpu);
  }
  return text;
}

DISTRIB_DECL auto slurm_gpus(const SlurmResolver& resolver, std::uint32_t most_tasks, const Environment& environment,
                             Error& error) -> SlurmGpus {
  SlurmGpus gpus{{}, resolver.gpus_per_node, resolver.gpus_per_task};
  const auto visible = environment.find("CUDA_VISIBLE_DEVICES");
  // If the step was started with --gpus-per-task, each task sees only its own GPUs already.
  const bool bound = !resolver.as_tensorflow && !gpus.per_node && !gpus.per_task &&
                     !environment.first_of({"SLURM_GPUS_PER_TASK"}).empty();
  if (visible && !bound) {
    std::string_view rest = *visible;
    const auto commas = std::count(rest.begin(), rest.end(), ',');
    while (!rest.empty()) gpus.listed.push_back(cut_before(rest, ','));
    if (!gpus.per_node)
      gpus.per_node = static_cast<std::uint32_t>(resolver.as_tensorflow ? static_cast<std::size_t>(commas) + 1
                                                                        : gpus.listed.size());
  }
  if (resolver.as_tensorflow && !gpus.per_node) gpus.per_node = 0;
  if (resolver.as_tensorflow || gpus.listed.size() != gpus.per_node) gpus.listed.clear();
  if (!gpus.per_task && gpus.per_node) gpus.per_task = *gpus.per_node / std::max(most_tasks, 1U);
  const bool nothing_to_share = !resolver.gpus_per_task && gpus.per_task == 0U;
  if (nothing_to_share && !resolver.as_tensorflow) gpus.per_task.reset();
  if (gpus.per_task && gpus.per_node && std::uint64_t{most_tasks} * *gpus.per_task > *gpus.per_node)
    error = {scheduler_errc::gpu_count, std::to_string(most_tasks) + " tasks with " + std::to_string(*gpus.per_task) +
                                            " GPUs each on nodes with " + std::to_string(*gpus.per_node)};
  return gpus;
}

// Checks that the task runs where the node list has its rank. Otherwise it would listen at the address of another task.
DISTRIB_DECL void check_slurm_seat(const SlurmSeat& seat, bool host_once, const Environment& environment,
                                   Error& error) {
  const std::string_view host = environment.first_of({"SLURMD_NODENAME"});
  const auto local_rank = environment.number({"SLURM_LOCALID"}, error);
  const bool here = host.empty() || host == *seat.host;
  if (!error && (!here || (local_rank && host_once && *local_rank != seat.local_rank)))
    error = {scheduler_errc::placed_elsewhere, "task " + std::to_string(local_rank.value_or(0)) + " of " +
                                                   std::string{host} + ", in the node list task " +
                                                   std::to_string(seat.local_rank) + " of " + *seat.host};
}

}  // namespace detail

DISTRIB_DECL auto SlurmResolver::resolve(const Environment& environment, ErrorRef to) const -> SlurmTask {
  detail::ErrorOut error{to};
  SlurmTask result;
  result.rank = detail::slurm_count(environment, {"SLURM_PROCID"}, error);
  auto sizes = jobs;
  if (sizes.empty() && !error)
    sizes["worker"] = as_tensorflow ? detail::slurm_count(environment, {"SLURM_STEP_NUM_TASKS"}, error)
                                    : detail::slurm_count(environment, {"SLURM_STEP_NUM_TASKS", "SLURM_NTASKS"}, error);
  if (error) return {};
  std::vector<SlurmResolver::Node> hosts = detail::slurm_nodes(*this, environment, error);
  if (as_tensorflow) detail::sort_slurm_nodes(hosts);
  std::uint64_t started = 0;
  std::uint32_t most = 0;
  for (const SlurmResolver::Node& node : hosts) {
    started += node.tasks;
    most = std::max(most, node.tasks);
  }
  std::uint64_t wanted = 0;
  for (const auto& [job, tasks] : sizes) wanted += tasks;

  const detail::SlurmGpus gpus = error ? detail::SlurmGpus{} : detail::slurm_gpus(*this, most, environment, error);
  if (!error && started > detail::max_slurm_tasks)
    error = {scheduler_errc::too_many_tasks, std::to_string(started) + " tasks"};
  if (!error && wanted != started)
    error = {scheduler_errc::task_count,
             "requested " + std::to_string(wanted) + " tasks, but " + std::to_string(started) + " were assigned"};
  if (!error && as_tensorflow && gpus.per_task == 0U)
    error = {scheduler_errc::no_gpu, std::to_string(*gpus.per_node) + " GPUs for " + std::to_string(most) + " tasks"};
  if (!error && result.rank >= started)
    error = {scheduler_errc::no_such_rank,
             "SLURM_PROCID=" + std::to_string(result.rank) + " of " + std::to_string(started) + " tasks"};
  if (error) return {};
  const std::vector<detail::SlurmSeat> seats = detail::slurm_seats(*this, hosts, environment, error);
  if (error) return {};

  const detail::SlurmSeat& seat = seats[result.rank];
  const auto times = std::count_if(hosts.begin(), hosts.end(),
                                   [&](const SlurmResolver::Node& node) { return node.host == *seat.host; });
  if (!as_tensorflow && nodes.empty()) detail::check_slurm_seat(seat, times == 1, environment, error);
  result.local_rank = seat.local_rank;
  std::size_t first = 0;
  for (const auto& [job, tasks] : sizes) {
    ClusterSpec::Tasks addresses;
    for (std::uint32_t i = 0; i < tasks; ++i) addresses.emplace_hint(addresses.end(), i, seats[first + i].address);
    if (result.rank >= first && result.rank - first < tasks)
      result.task = {job, static_cast<std::uint32_t>(result.rank - first)};
    result.cluster.add(job, std::move(addresses));
    first += tasks;
  }
  if (auto_set_gpu && gpus.per_task) result.visible_devices = gpus.share(seat.local_rank);
  return error ? SlurmTask{} : result;
}

namespace detail {

DISTRIB_DECL auto slurm_group_sizes(const Environment& environment) -> std::vector<std::uint32_t> {
  Error error;
  const std::uint32_t groups = environment.number({"SLURM_HET_SIZE", "SLURM_PACK_SIZE"}, error).value_or(0);
  const std::vector<SlurmResolver::Node> nodes = detail::slurm_nodes(SlurmResolver{}, environment, error);
  if (error || groups < 2) return {};
  std::vector<std::uint32_t> sizes;
  std::size_t at = 0;
  for (std::uint32_t group = 0; group < groups; ++group) {
    const std::string of_group = "SLURM_JOB_NODELIST_HET_GROUP_" + std::to_string(group);
    // the name that Slurm 22.05 still sets
    const std::string as_before = "SLURM_JOB_NODELIST_PACK_GROUP_" + std::to_string(group);
    std::uint32_t tasks = 0;
    const auto hosts = expand_host_list(environment.first_of({of_group.c_str(), as_before.c_str()}), error);
    for (const std::string& host : hosts) {
      if (at == nodes.size() || nodes[at].host != host) return {};
      tasks += nodes[at++].tasks;
    }
    if (error || tasks == 0) return {};
    sizes.push_back(tasks);
  }
  return at == nodes.size() ? sizes : std::vector<std::uint32_t>{};
}

}  // namespace detail

}  // namespace v0
}  // namespace distrib
