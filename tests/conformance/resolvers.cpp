// SPDX-License-Identifier: Apache-2.0
// Clusters that schedulers describe: Slurm's lists and steps, Kubernetes' pods and services.
#include "answers.hpp"

#include <distrib/cluster/kubernetes_resolver.hpp>
#include <distrib/cluster/master_url.hpp>
#include <distrib/cluster/slurm_host_list.hpp>
#include <distrib/cluster/slurm_resolver.hpp>

#include <optional>
#include <utility>

namespace conformance {

namespace {

using distrib::scheduler_errc;

/// Returns what ClusterSpec.as_dict returns for jobs without gaps.
auto job_lists(const distrib::ClusterSpec& cluster) -> Json {
  Json jobs = Json::object();
  for (const std::string& job : cluster.jobs()) {
    Json& list = jobs[job] = Json::array();
    for (const auto& address : *cluster.find(job)) list.push_back(address.second);
  }
  return jobs;
}

auto raised(const std::error_code& code) -> std::string {
  for (const auto runs : {scheduler_errc::no_step, scheduler_errc::task_count, scheduler_errc::gpu_count,
                          scheduler_errc::pod_not_running})
    if (code == runs) return "RuntimeError";
  return code == scheduler_errc::no_such_rank ? "IndexError" : exception_of(code);
}

auto slurm_hostlist(const Json& input) -> Json {
  return {{"hosts", distrib::expand_host_list(input.at("hostlist").get<std::string>())}};
}

auto slurm_tasks_per_node(const Json& input) -> Json {
  return {{"tasks", distrib::expand_tasks_per_node(input.at("tasks_per_node").get<std::string>())}};
}

template <class T>
void read(const Json& args, const char* name, T& to) {
  if (args.contains(name) && !args[name].is_null()) to = args[name].template get<T>();
}
template <class T>
void read(const Json& args, const char* name, std::optional<T>& to) {
  if (args.contains(name) && !args[name].is_null()) to = args[name].template get<T>();
}

auto slurm_resolver_of(const Json& args) -> distrib::SlurmResolver {
  distrib::SlurmResolver resolver;
  resolver.as_tensorflow = true;
  const Json jobs = args.value("jobs", Json::object());
  for (const auto& [job, tasks] : jobs.items()) resolver.jobs.emplace(job, tasks.get<std::uint32_t>());
  read(args, "port_base", resolver.port_base);
  read(args, "gpus_per_node", resolver.gpus_per_node);
  read(args, "gpus_per_task", resolver.gpus_per_task);
  read(args, "auto_set_gpu", resolver.auto_set_gpu);
  read(args, "rpc_layer", resolver.rpc_layer);
  const Json tasks_per_node = args.value("tasks_per_node", Json());
  if (!tasks_per_node.is_object()) read(args, "tasks_per_node", resolver.tasks_per_node);
  if (tasks_per_node.is_object())
    for (const auto& [host, tasks] : tasks_per_node.items())
      resolver.nodes.push_back({host, tasks.get<std::uint32_t>()});
  return resolver;
}

auto slurm_resolver(const Json& input) -> Json {
  const distrib::SlurmResolver resolver = slurm_resolver_of(input.value("args", Json::object()));
  if (!input.contains("env"))
    return {
        {"port_base", resolver.port_base}, {"rpc_layer", resolver.rpc_layer}, {"auto_set_gpu", resolver.auto_set_gpu}};
  distrib::Environment::Variables variables;
  for (const auto& [name, value] : input["env"].items()) variables.emplace(name, value.get<std::string>());
  const auto cuda = variables.find("CUDA_VISIBLE_DEVICES");
  const auto before = cuda == variables.end() ? Json() : Json(cuda->second);
  const distrib::SlurmTask task = resolver.resolve(distrib::Environment{variables});
  return {{"cluster", job_lists(task.cluster)},
          {"task_type", task.task.job},
          {"task_id", task.task.index},
          {"master", master_url(task.cluster, task.task, resolver.rpc_layer)},
          {"CUDA_VISIBLE_DEVICES", task.visible_devices ? Json(*task.visible_devices) : before}};
}

auto kubernetes_resolver(const Json& input) -> Json {
  distrib::KubernetesResolver resolver;
  resolver.node_address = true;
  read(input, "port", resolver.port);
  read(input, "tf_server_port", resolver.port);
  read(input, "rpc_layer", resolver.rpc_layer);
  if (const Json mapping = input.value("job_to_label_mapping", Json("default")); mapping.is_object()) {
    resolver.jobs.clear();
    for (const auto& [job, selectors] : mapping.items())
      resolver.jobs.emplace_back(job, selectors.get<std::vector<std::string>>());
  }
  distrib::KubernetesResolver::Pods pods;
  for (const auto& [selector, list] : input.at("pods_by_selector").items())
    for (const Json& pod : list)
      pods[selector].push_back(
          {pod.at(0).get<std::string>(), pod.at(1).get<std::string>(), "", pod.at(2).get<std::string>()});
  const distrib::ClusterSpec cluster = resolver.cluster(pods);
  Json answer{{"cluster", job_lists(cluster)},
              {"master_without_task", master_url(cluster, std::nullopt, resolver.rpc_layer)}};
  for (const std::string& job : cluster.jobs())
    for (const std::uint32_t index : cluster.task_indices(job))
      answer["master_" + job + "_" + std::to_string(index)] =
          master_url(cluster, distrib::TaskId{job, index}, resolver.rpc_layer);
  return answer;
}

auto kubernetes_service_name(const Json& input) -> Json {
  if (input.contains("service_name")) {
    const auto task = distrib::detail::task_of_service(input["service_name"].get<std::string>());
    return {{"task_type", task ? Json(task->job) : Json()}, {"task_id", task ? Json(task->index) : Json()}};
  }
  std::vector<distrib::KubernetesService> services;
  for (const Json& service : input.at("services"))
    services.push_back(
        {service.at(0).get<std::string>(), service.at(1).is_null() ? std::string{} : service.at(1).get<std::string>()});
  std::uint16_t port = 5000;
  read(input, "port", port);
  return {{"cluster", job_lists(distrib::cluster_of_services(services, port))}};
}

}  // namespace

auto resolver_groups() -> std::vector<Group> {
  return {{"slurm_hostlist", slurm_hostlist, raised},
          {"slurm_tasks_per_node", slurm_tasks_per_node, raised},
          {"slurm_resolver", slurm_resolver, raised},
          {"kubernetes_resolver", kubernetes_resolver, raised},
          {"kubernetes_service_name", kubernetes_service_name, raised}};
}

}  // namespace conformance
