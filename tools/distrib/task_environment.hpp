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

/// The tasks of a cluster: job by job as it has them, each job by index.
[[nodiscard]] inline auto tasks_of(const distrib::ClusterSpec& cluster) -> std::vector<distrib::TaskId> {
  std::vector<distrib::TaskId> tasks;
  for (const std::string& job : cluster.jobs())
    for (const auto& [index, address] : *cluster.find(job)) tasks.push_back({job, index});
  return tasks;
}

/// "ps0", "worker2".
[[nodiscard]] inline auto task_name(const distrib::TaskId& task) -> std::string {
  return task.job + std::to_string(task.index);
}

/// "--ps_hosts=a:1,b:2" and the like: one flag a job.
[[nodiscard]] inline auto host_flags(const distrib::ClusterSpec& cluster) -> std::vector<std::string> {
  std::vector<std::string> flags;
  for (const std::string& job : cluster.jobs()) {
    std::string flag = "--" + job + "_hosts=";
    for (const auto& [index, address] : *cluster.find(job)) flag.append(flag.back() == '=' ? "" : ",").append(address);
    flags.push_back(flag);
  }
  return flags;
}

/// What tells a task on its command line who it is: --job_name, --task_index, and a list of hosts for each job.
[[nodiscard]] inline auto task_flags(const distrib::TaskId& task, const distrib::ClusterSpec& cluster)
    -> std::vector<std::string> {
  std::vector<std::string> flags{"--job_name=" + task.job, "--task_index=" + std::to_string(task.index)};
  for (std::string& flag : host_flags(cluster)) flags.push_back(std::move(flag));
  return flags;
}

/// The same as TensorFlow's TF_CONFIG: {"cluster":{"ps":["a:1"],...},"task":{"type":"ps","index":0}}.
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

/// The variables of `environment` (ended by a null pointer, as `environ` is), with `name` set to `value`.
[[nodiscard]] inline auto environment_with(const char* const* environment, const std::string& name,
                                           const std::string& value) -> std::vector<std::string> {
  std::vector<std::string> variables;
  for (; *environment != nullptr; ++environment)
    if (!std::string_view{*environment}.starts_with(name + "=")) variables.emplace_back(*environment);
  variables.push_back(name + "=" + value);
  return variables;
}

}  // namespace tools
