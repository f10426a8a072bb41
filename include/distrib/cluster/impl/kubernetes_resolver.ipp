// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/kubernetes_resolver.hpp>

#include <distrib/core/host_port.hpp>
#include <distrib/core/shortest_text.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void read_kubernetes_field(std::string_view path, std::string_view value, KubernetesPod& pod) {
  if (path == "/metadata/name") pod.name = value;
  if (path == "/status/phase") pod.phase = value;
  if (path == "/status/podIP") pod.pod_ip = value;
  if (path == "/status/hostIP") pod.host_ip = value;
}

}  // namespace detail

DISTRIB_DECL auto pod_list_path(std::string_view selector, std::string_view space) -> std::string {
  constexpr std::string_view hex = "0123456789ABCDEF";
  constexpr std::string_view plain = "-._~0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz";
  const auto append = [&](std::string& path, std::string_view text) {
    for (const char c : text) {
      const auto byte = static_cast<unsigned char>(c);
      if (plain.find(c) != std::string_view::npos) path += c;
      else path.append(1, '%').append(1, hex[byte >> 4]).append(1, hex[byte & 15]);
    }
  };
  std::string path = "/api/v1/";
  if (!space.empty()) append(path += "namespaces/", space);
  append(path += space.empty() ? "pods?labelSelector=" : "/pods?labelSelector=", selector);
  return path;
}

DISTRIB_DECL auto KubernetesResolver::cluster(const Pods& pods, ErrorRef to) const -> ClusterSpec {
  detail::ErrorOut error{to};
  ClusterSpec cluster;
  for (const auto& [job, list] : jobs) {
    ClusterSpec::Tasks tasks;
    for (const std::string& selector : list) {
      const auto found = pods.find(selector);
      if (found != pods.end()) append(found->second, tasks, error);
      if (error) return {};
    }
    cluster.add(job, std::move(tasks), error.code);
    if (error) error.where = job;
    if (error) return {};
  }
  return cluster;
}

DISTRIB_DECL void KubernetesResolver::append(std::vector<KubernetesPod> pods, ClusterSpec::Tasks& tasks,
                                             Error& error) const {
  std::sort(pods.begin(), pods.end(), [](const auto& a, const auto& b) { return a.name < b.name; });
  for (const KubernetesPod& pod : pods) {
    const std::string& host = node_address ? pod.host_ip : pod.pod_ip;
    if (pod.phase != "Running" || host.empty()) {
      error = {scheduler_errc::pod_not_running,
               "'" + pod.name + "', phase '" + pod.phase + "', address '" + host + "'"};
      return;
    }
    tasks.emplace(static_cast<std::uint32_t>(tasks.size()), detail::host_port(host, std::to_string(port)));
  }
}

namespace detail {

DISTRIB_DECL auto task_of_service(std::string_view name, std::error_code& ec) -> std::optional<TaskId> {
  ec.clear();
  const std::size_t last = name.rfind('-');
  const std::size_t before = last == std::string_view::npos || last == 0 ? last : name.rfind('-', last - 1);
  if (std::count(name.begin(), name.end(), '-') < 3) {
    ec = scheduler_errc::bad_service_name;
    return std::nullopt;
  }
  const std::string_view job = name.substr(before + 1, last - before - 1);
  if (job != "chief" && job != "worker" && job != "ps" && job != "evaluator") return std::nullopt;
  const auto index = detail::parse_whole<std::uint32_t>(name.substr(last + 1));
  if (index) return TaskId{std::string{job}, *index};
  ec = scheduler_errc::bad_service_name;
  return std::nullopt;
}

DISTRIB_DECL auto task_of_service(std::string_view name) -> std::optional<TaskId> {
  std::error_code ec;
  auto task = task_of_service(name, ec);
  if (ec) throw_error(ec, "'" + std::string{name.substr(0, 255)} + "'");
  return task;
}

}  // namespace detail

DISTRIB_DECL auto cluster_of_services(const std::vector<KubernetesService>& services, std::uint16_t port, ErrorRef to)
    -> ClusterSpec {
  detail::ErrorOut error{to};
  std::vector<std::pair<std::string, ClusterSpec::Tasks>> jobs;
  std::string other;  // the first name with an address that describes no task
  bool has_tasks = false;
  for (const auto& [name, address] : services) {
    std::error_code ec;
    const auto task = detail::task_of_service(name, ec);
    has_tasks = has_tasks || task;
    if (address.empty()) continue;
    if (ec && other.empty()) other = "'" + name + "'";
    if (!task) continue;
    auto job = std::find_if(jobs.begin(), jobs.end(), [&](const auto& known) { return known.first == task->job; });
    if (job == jobs.end()) job = jobs.insert(job, {task->job, {}});
    job->second[task->index] = detail::host_port(address, std::to_string(port));
  }
  ClusterSpec cluster;
  if (!has_tasks && !other.empty()) error = {scheduler_errc::bad_service_name, other};
  else if (jobs.empty()) error = {scheduler_errc::no_service, std::to_string(services.size()) + " services"};
  for (auto& [job, tasks] : jobs) {
    if (tasks.rbegin()->first >= tasks.size()) error = {scheduler_errc::missing_service, job};
    cluster.add(job, std::move(tasks));
  }
  return error ? ClusterSpec{} : cluster;
}

}  // namespace v0
}  // namespace distrib
