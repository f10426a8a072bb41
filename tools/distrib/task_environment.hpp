// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/core/json_text.hpp>

#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace tools {

/// Returns the tasks of a cluster: the jobs in the order of the cluster, each job by index.
[[nodiscard]] inline auto tasks_of(const distrib::ClusterSpec& cluster) -> std::vector<distrib::TaskId> {
  std::vector<distrib::TaskId> tasks;
  for (const std::string& job : cluster.jobs())
    for (const auto& [index, address] : *cluster.find(job)) tasks.push_back({job, index});
  return tasks;
}

/// Returns the name of a task in the log: "ps0", "worker2".
[[nodiscard]] inline auto task_name(const distrib::TaskId& task) -> std::string {
  return task.job + std::to_string(task.index);
}

/// Returns one flag for each job: "--ps_hosts=a:1,b:2" and so on.
[[nodiscard]] inline auto host_flags(const distrib::ClusterSpec& cluster) -> std::vector<std::string> {
  std::vector<std::string> flags;
  for (const std::string& job : cluster.jobs()) {
    std::string flag = "--" + job + "_hosts=";
    for (const auto& [index, address] : *cluster.find(job)) flag.append(flag.back() == '=' ? "" : ",").append(address);
    flags.push_back(flag);
  }
  return flags;
}

/// Returns the flags by which a task knows its own role: --job_name, --task_index, and a list of hosts for each job.
[[nodiscard]] inline auto task_flags(const distrib::TaskId& task, const distrib::ClusterSpec& cluster)
    -> std::vector<std::string> {
  std::vector<std::string> flags{"--job_name=" + task.job, "--task_index=" + std::to_string(task.index)};
  for (std::string& flag : host_flags(cluster)) flags.push_back(std::move(flag));
  return flags;
}

/// Returns the same information as TensorFlow's TF_CONFIG:
/// {"cluster":{"ps":["a:1"],...},"task":{"type":"ps","index":0}}.
[[nodiscard]] inline auto tf_config(const distrib::TaskId& task, const distrib::ClusterSpec& cluster) -> std::string {
  std::string json = R"({"cluster":{)";
  for (const std::string& job : cluster.jobs()) {
    json.append(json.back() == '{' ? "" : ",").append(distrib::json_text(job)).append(":[");
    for (const auto& [index, address] : *cluster.find(job))
      json.append(json.back() == '[' ? "" : ",").append(distrib::json_text(address));
    json += ']';
  }
  return json + R"(},"task":{"type":)" + distrib::json_text(task.job) + R"(,"index":)" +
         distrib::json_text(task.index) + "}}";
}

/// Returns the variables of `environment` (which ends with a null pointer, like `environ`), with `name` set to `value`.
[[nodiscard]] inline auto environment_with(const char* const* environment, const std::string& name,
                                           const std::string& value) -> std::vector<std::string> {
  std::vector<std::string> variables;
  for (; *environment != nullptr; ++environment)
    if (!std::string_view{*environment}.starts_with(name + "=")) variables.emplace_back(*environment);
  variables.push_back(name + "=" + value);
  return variables;
}

}  // namespace tools
