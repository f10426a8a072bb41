// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why a description of a cluster, or of this process's task in it, was refused.
enum class cluster_errc {
  no_such_job = 1,  ///< The cluster has no job of this name. Use a name that it has, or add the job.
  no_such_task,  ///< The job has no task with this index. Use an index below the number of its hosts.
  empty_job,  ///< The job has no tasks. Give it at least one host.
  duplicate_job,  ///< One cluster has the name of a job twice. List each job once, with all its tasks.
  /// Tasks of a job are missing, but each task must know all of them. Describe tasks 0 .. n-1 of each job to every
  /// task.
  sparse_job,
  missing_job,  ///< A cluster is described, but not the job of this process. Set it.
  missing_index,  ///< A cluster is described, but not this task's index in its job. Set it.
  missing_hosts,  ///< A job name is set, but a host list is missing. Pass host:port,host:port,...
  empty_address,  ///< A host list has an empty entry. Remove the extra comma.
  unknown_flag,  ///< An unknown flag. Check its spelling. To accept other flags, use `parse_known`.
  missing_value,  ///< A flag has no value. Write --name=value.
  bad_integer,  ///< A value is not a whole number, or is out of range. Pass a whole number, 0 or larger.
  /// TF_CONFIG is JSON, but a value is not of the form that TensorFlow uses. Check the value at the place in the
  /// message.
  bad_tf_config,
  bad_device,  ///< The text describes no device. Write /job:NAME/task:N/device:TYPE:N, or a part of it.
  /// A job's name is not a role, a role has too many tasks, or the chief is missing where there must be one. Jobs are
  /// chief, worker, ps and evaluator; there may be one chief and one evaluator.
  bad_role,
  /// Two devices cannot be the same: they name different jobs, replicas, tasks, types or numbers. Change one of them.
  device_conflict,
  bad_address,  ///< A server's address has no port at its end, or a slash in its host. Write host:port.
  unknown_protocol,  ///< No server speaks this protocol. Omit it, or write grpc.
  /// The bytes are not a ClusterDef, ServerDef or ClusterDeviceFilters. Check the program that wrote them.
  bad_cluster_def,
  bad_flag_file,  ///< A file of flags is too long, is not text, or includes itself. Write one flag per line.
};

namespace detail {
inline constexpr ErrorText cluster_texts[] = {
    {cluster_errc::no_such_job, failure::not_found,
     "no such job in the cluster: use a name that it has, or add the job"},
    {cluster_errc::no_such_task, failure::not_found, "no task with this index in the job: use an index that it has"},
    {cluster_errc::empty_job, failure::invalid_argument, "the job has no tasks; give it at least one host"},
    {cluster_errc::duplicate_job, failure::invalid_argument,
     "the cluster has this job name twice; list each job once, with all its tasks"},
    {cluster_errc::sparse_job, failure::unsupported,
     "tasks are missing, but every task must know all tasks: describe tasks 0 .. n-1 of each job to every task (a "
     "TFJob does, without enableDynamicWorker)"},
    {cluster_errc::missing_job, failure::invalid_argument, "the job of this process is not known; set it"},
    {cluster_errc::missing_index, failure::invalid_argument,
     "the index of this process in its job is not known; set it"},
    {cluster_errc::missing_hosts, failure::invalid_argument,
     "must be given with --job_name, as host:port,host:port,..."},
    {cluster_errc::empty_address, failure::invalid_argument,
     "an entry of the host list is empty; remove the extra comma"},
    {cluster_errc::unknown_flag, failure::invalid_argument,
     "unknown flag; known are --job_name, --task_index, --ps_hosts, --worker_hosts, --flagfile"},
    {cluster_errc::missing_value, failure::invalid_argument, "the flag needs a value: --name=value"},
    {cluster_errc::bad_integer, failure::invalid_argument, "must be a whole number from 0 to 4294967295"},
    {cluster_errc::bad_tf_config, failure::invalid_argument,
     "not the form that TF_CONFIG has here: {\"cluster\": {JOB: [HOST:PORT, ...]}, \"task\": {\"type\": JOB, "
     "\"index\": N}}"},
    {cluster_errc::bad_device, failure::invalid_argument,
     "not a device; write /job:NAME/task:N/device:TYPE:N or a part of it"},
    {cluster_errc::bad_role, failure::invalid_argument,
     "no such role, or too many tasks in it: there may be one chief, workers, ps and one evaluator"},
    {cluster_errc::device_conflict, failure::invalid_argument,
     "the devices contradict each other and cannot be merged; change one of them"},
    {cluster_errc::bad_address, failure::invalid_argument, "not an address of a server; write host:port"},
    {cluster_errc::unknown_protocol, failure::not_found, "no server speaks this protocol; write grpc"},
    {cluster_errc::bad_cluster_def, failure::corrupt,
     "the bytes are not a ClusterDef, ServerDef or ClusterDeviceFilters; check the program that wrote them"},
    {cluster_errc::bad_flag_file, failure::invalid_argument,
     "not a file of flags; write --name=value, one flag per line"},
};

/// Returns the category "distrib.cluster".
[[nodiscard]] inline auto cluster_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.cluster", cluster_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(cluster_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::cluster_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::cluster_errc> : std::true_type {};
