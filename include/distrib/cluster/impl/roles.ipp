// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/roles.hpp>

#include <distrib/cluster/error.hpp>

#include <algorithm>
#include <iterator>
#include <string>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void check_role(const ClusterSpec& cluster, const TaskId& task, std::error_code& ec) {
  constexpr std::string_view roles[] = {"chief", "worker", "ps", "evaluator"};
  const auto is_role = [&](std::string_view job) {
    return std::find(std::begin(roles), std::end(roles), job) != std::end(roles);
  };
  const auto count = [&](std::string_view job) {
    const ClusterSpec::Tasks* tasks = cluster.find(job);
    return tasks == nullptr ? 0 : tasks->size();
  };
  ec.clear();
  for (const std::string& job : cluster.jobs())
    if (!is_role(job)) ec = cluster_errc::bad_role;
  if (!is_role(task.job) || count("chief") > 1 || count("evaluator") > 1) ec = cluster_errc::bad_role;
  if (ec) return;
  if (!cluster.contains(task.job)) {
    if (task.job != "evaluator") ec = cluster_errc::no_such_job;
  } else if (!cluster.find(task.job)->contains(task.index)) {
    ec = cluster_errc::no_such_task;
  }
}

DISTRIB_DECL auto is_chief(const ClusterSpec& cluster, const TaskId& task, std::error_code& ec) -> bool {
  check_role(cluster, task, ec);
  if (ec) return false;
  if (task.job == "chief" || task.job == "evaluator") return true;
  return task == TaskId{"worker", 0} && !cluster.contains("chief");
}

DISTRIB_DECL auto is_chief(const ClusterSpec& cluster, const TaskId& task) -> bool {
  std::error_code ec;
  const bool chief = is_chief(cluster, task, ec);
  if (ec) throw_error(ec, to_string(task));
  return chief;
}

DISTRIB_DECL auto id_in_cluster(const ClusterSpec& cluster, const TaskId& task, std::error_code& ec) -> std::uint32_t {
  check_role(cluster, task, ec);
  if (!ec && task.job == "ps") ec = cluster_errc::bad_role;
  if (ec) return 0;
  return task.job == "worker" && cluster.contains("chief") ? task.index + 1 : task.index;
}

DISTRIB_DECL auto id_in_cluster(const ClusterSpec& cluster, const TaskId& task) -> std::uint32_t {
  std::error_code ec;
  const std::uint32_t id = id_in_cluster(cluster, task, ec);
  if (ec) throw_error(ec, to_string(task));
  return id;
}

DISTRIB_DECL auto rank_count(const ClusterSpec& cluster) -> std::size_t {
  std::size_t count = 0;
  for (const char* job : {"chief", "worker"})
    if (const ClusterSpec::Tasks* tasks = cluster.find(job); tasks != nullptr) count += tasks->size();
  return count;
}

DISTRIB_DECL auto worker_count(const ClusterSpec& cluster, std::string_view job, std::error_code& ec) -> std::size_t {
  const ClusterSpec::Tasks* tasks = cluster.find(job);
  check_role(cluster, {std::string{job}, tasks == nullptr || tasks->empty() ? 0 : tasks->begin()->first}, ec);
  if (!ec && job == "ps") ec = cluster_errc::bad_role;
  if (ec) return 0;
  if (job != "evaluator") return rank_count(cluster);
  return tasks == nullptr ? 0 : tasks->size();
}

DISTRIB_DECL auto worker_count(const ClusterSpec& cluster, std::string_view job) -> std::size_t {
  std::error_code ec;
  const std::size_t count = worker_count(cluster, job, ec);
  if (ec) throw_error(ec, job);
  return count;
}

}  // namespace v0
}  // namespace distrib
