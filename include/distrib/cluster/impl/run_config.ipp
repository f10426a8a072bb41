// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/run_config.hpp>

#include <distrib/cluster/error.hpp>

namespace distrib {
inline namespace v0 {
namespace detail {

// Checks an estimator's rules for a cluster. `chief`: the name of the chief's job, "chief" or the former "master".
DISTRIB_DECL void check_run_config(const TfConfig& config, std::string_view chief, Error& error) {
  const ClusterSpec& cluster = config.cluster;
  const ClusterSpec::Tasks* chiefs = cluster.find(chief);
  if (chief == "master" && cluster.contains("chief")) {
    error = {cluster_errc::bad_role, "cluster has both a chief and a master"};
  } else if (chiefs == nullptr || chiefs->size() != 1 || chiefs->begin()->first != 0) {
    error = {cluster_errc::bad_role, "cluster must have exactly one " + std::string{chief}};
  } else if (!config.task_type || config.task_type->empty()) {
    error = {cluster_errc::missing_job, "task.type"};
  } else if (!config.task_index) {
    error = {cluster_errc::missing_index, "task.index"};
  } else if (*config.task_type == "evaluator") {
    if (chief == "master") error = {cluster_errc::bad_role, "a cluster with a master must not have an evaluator"};
  } else {
    (void)cluster.task_address(*config.task_type, *config.task_index, error.code);
    if (error) error.where = to_string(*config.task());
  }
}

// Returns the position of a job in the order of global ids.
DISTRIB_DECL auto global_order(std::string_view job, std::string_view chief) -> int {
  return job == chief ? 0 : job == "ps" ? 2 : 1;
}

DISTRIB_DECL auto global_id(const ClusterSpec& cluster, const TaskId& task, std::string_view chief) -> std::uint32_t {
  std::uint32_t id = task.index;
  for (const std::string& job : cluster.jobs()) {
    const int order = global_order(job, chief) - global_order(task.job, chief);
    const ClusterSpec::Tasks& tasks = *cluster.find(job);
    if ((order < 0 || (order == 0 && job < task.job)) && !tasks.empty()) id += tasks.rbegin()->first + 1;
  }
  return id;
}

DISTRIB_DECL auto default_device_filters(const TaskId& task) -> std::vector<std::string> {
  if (task.job == "ps") return {"/job:ps", "/job:worker", "/job:chief", "/job:master"};
  if (task.job == "worker") return {"/job:ps", to_string(task)};
  if (task.job == "chief" || task.job == "master") return {"/job:ps", "/job:" + task.job};
  return {};
}

}  // namespace detail

DISTRIB_DECL auto run_config(const TfConfig& config, ErrorRef to) -> RunConfig {
  detail::ErrorOut error{to};
  RunConfig run;
  run.service = config.service;
  run.task_type = config.task_type.value_or("worker");
  run.task_id = config.task_index.value_or(0);
  if (!config.cluster) {
    if (run.task_type != "worker") error = {cluster_errc::bad_role, "without a cluster the task must be a worker"};
    else if (run.task_id != 0) error = {cluster_errc::no_such_task, "without a cluster the index must be 0"};
    run.master = config.session_master.value_or("");
    run.evaluation_master = config.eval_session_master.value_or("");
    return error ? RunConfig{} : run;
  }

  const std::string chief = config.cluster.contains("master") ? "master" : "chief";
  detail::check_run_config(config, chief, error);
  if (error) return {};
  run.is_chief = run.task_type == chief;
  if (run.task_type == "evaluator") {
    run.evaluation_master = config.eval_session_master.value_or("");
    run.num_worker_replicas = 0;
    run.global_id_in_cluster.reset();
    return run;
  }
  const auto count = [&](std::string_view job) {
    const ClusterSpec::Tasks* tasks = config.cluster.find(job);
    return tasks == nullptr ? 0 : tasks->size();
  };
  run.cluster = config.cluster;
  run.num_ps_replicas = count("ps");
  run.num_worker_replicas = count("worker") + 1;
  run.global_id_in_cluster = detail::global_id(config.cluster, *config.task(), chief);
  run.device_filters = detail::default_device_filters(*config.task());
  if (config.session_master) run.master = *config.session_master;
  else if (config.cluster.jobs().size() > 1)
    run.master = "grpc://" + config.cluster.task_address(run.task_type, run.task_id);
  return run;
}

DISTRIB_DECL auto run_config(const TfConfig& config) -> RunConfig {
  Error error;
  RunConfig run = run_config(config, error);
  if (error) throw_error(error.code, "TF_CONFIG: " + error.where);
  return run;
}

}  // namespace v0
}  // namespace distrib
