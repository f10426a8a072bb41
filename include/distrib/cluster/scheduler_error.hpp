// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>

#include <system_error>

namespace distrib {
inline namespace v0 {

/// Why the variables of Slurm or MPI, or the answers of Kubernetes, do not describe this process's task.
enum class scheduler_errc {
  bad_host_list = 1,  ///< Not a Slurm host list. Write a1,b[2-4,7],rack[0-1]node[0-9].
  bad_tasks_per_node,  ///< Not a Slurm list of task counts. Write 2,1 or 3(x2),1.
  too_many_tasks,  ///< More than 65,536 hosts or tasks, or a name of more than 255 bytes. Start a smaller job.
  no_step,  ///< A variable is not set that every task of a Slurm step has. Start the program with srun.
  bad_variable,  ///< A variable is not a whole number, or is out of range. Correct the script or launcher that sets it.
  no_such_rank,  ///< A rank is not below the number of tasks. Correct the script or launcher that sets the variable.
  task_count,  ///< The jobs need another number of tasks than were started. Correct one of the two numbers.
  gpu_count,  ///< Tasks need more GPUs than a node has. Request fewer GPUs per task.
  no_gpu,  ///< A task's share is no GPU at all, which TensorFlow does not allow. Do not set `as_tensorflow`.
  /// The task does not run on the host that the node list has for its rank. Start the step with srun -m block.
  placed_elsewhere,
  /// A port would be above 65535, or fewer ports are reserved than a node has tasks. Use a lower first port, or reserve
  /// more.
  bad_port,
  unknown_split,  ///< The number of parameter servers is not known. Set DISTRIB_PS to it.
  unknown_hosts,  ///< The launcher does not set the hosts of the ranks. Set DISTRIB_PS_HOSTS and DISTRIB_WORKER_HOSTS.
  /// Not the complete list that Kubernetes was asked for. Look at the place in the message; request the list without a
  /// limit.
  bad_answer,
  pod_not_running,  ///< A pod has not started, or has ended. Ask again when all pods run.
  bad_service_name,  ///< No name of a service describes a task. Name the services of tasks A-B-JOB-INDEX.
  no_service,  ///< No service has an address yet. Ask again later.
  missing_service,  ///< Some services of a job have no address yet. Ask again later.
  unknown_size,  ///< The launcher does not set the number of ranks. Set the host lists.
};

namespace detail {
inline constexpr ErrorText scheduler_texts[] = {
    {scheduler_errc::bad_host_list, failure::invalid_argument,
     "invalid host list; the form is a1,b[2-4,7],rack[0-1]node[0-9]"},
    {scheduler_errc::bad_tasks_per_node, failure::invalid_argument,
     "invalid list of tasks per node; the form is 2,1 or 3(x2),1"},
    {scheduler_errc::too_many_tasks, failure::exhausted,
     "more than 65536 hosts or tasks, or a host name of more than 255 bytes; start a smaller job"},
    {scheduler_errc::no_step, failure::not_found, "not set in the environment; start the program with srun"},
    {scheduler_errc::bad_variable, failure::invalid_argument,
     "not a valid value: it must consist of whole numbers in the allowed range; correct the script or launcher that "
     "sets the variable"},
    {scheduler_errc::no_such_rank, failure::not_found,
     "the rank is not below the number of tasks; correct the variables, or the number of tasks"},
    {scheduler_errc::task_count, failure::mismatch, "the numbers of tasks do not agree; correct one of them"},
    {scheduler_errc::gpu_count, failure::exhausted,
     "the tasks of a node need more GPUs than it has; request fewer GPUs per task"},
    {scheduler_errc::no_gpu, failure::unsupported,
     "a node has fewer GPUs than tasks, so a task's share would be no GPU; do not set as_tensorflow"},
    {scheduler_errc::placed_elsewhere, failure::mismatch,
     "the task does not run on the host that the node list has for its rank; start the step with srun -m block"},
    {scheduler_errc::bad_port, failure::exhausted,
     "there are not enough ports for the tasks of a node; use a lower first port, or reserve more"},
    {scheduler_errc::unknown_split, failure::invalid_argument,
     "set DISTRIB_PS to the number of parameter servers, at least 1 and fewer than all tasks"},
    {scheduler_errc::unknown_hosts, failure::not_found,
     "the launcher does not set the hosts; set DISTRIB_PS_HOSTS and DISTRIB_WORKER_HOSTS"},
    {scheduler_errc::bad_answer, failure::invalid_argument,
     "not a complete list from Kubernetes; request the list without a limit"},
    {scheduler_errc::pod_not_running, failure::unavailable, "the pod is not running; ask again when all pods run"},
    {scheduler_errc::bad_service_name, failure::invalid_argument,
     "the service is not named A-B-JOB-INDEX; name the services of tasks like this"},
    {scheduler_errc::no_service, failure::unavailable, "no service of a task has an address yet; ask again later"},
    {scheduler_errc::missing_service, failure::unavailable,
     "not all tasks of the job have a service with an address yet; ask again later"},
    {scheduler_errc::unknown_size, failure::not_found,
     "the launcher does not set the number of ranks; set DISTRIB_PS_HOSTS and DISTRIB_WORKER_HOSTS, or pass "
     "--job_name= if this process is the whole job"},
};

/// Returns the category "distrib.scheduler".
[[nodiscard]] inline auto scheduler_category() noexcept -> const std::error_category& {
  static const TableCategory category{"distrib.scheduler", scheduler_texts};
  return category;
}

}  // namespace detail

[[nodiscard]] inline auto make_error_code(scheduler_errc value) noexcept -> std::error_code {
  return {static_cast<int>(value), detail::scheduler_category()};
}

}  // namespace v0
}  // namespace distrib

template <> struct std::is_error_code_enum<distrib::scheduler_errc> : std::true_type {};
