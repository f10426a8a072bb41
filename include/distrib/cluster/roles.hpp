// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/core/decl.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

// Roles of the tasks in a training cluster, by the rules of TensorFlow's multi-worker utilities. Jobs are chief,
// worker, ps and evaluator; the evaluator need not be part of the cluster.

namespace distrib {
inline namespace v0 {

/// Checks that `task` has a role in training. An evaluator may be missing from the cluster.
///
/// Errors (without `ec` thrown as `std::system_error`): `cluster_errc::bad_role` for another job name, or more than one
/// chief or evaluator; `no_such_job` if the cluster does not have the job; `no_such_task` if the job does not have the
/// index.
DISTRIB_DECL void check_role(const ClusterSpec& cluster, const TaskId& task, std::error_code& ec);
inline void check_role(const ClusterSpec& cluster, const TaskId& task) {
  std::error_code ec;
  check_role(cluster, task, ec);
  if (ec) throw_error(ec, to_string(task));
}

/// True if `task` initializes, restores and saves: the chief, or worker 0 if there is no chief. Also true for an
/// evaluator, which does this for its own files.
///
/// Errors (without `ec` thrown as `std::system_error`): those of `check_role`; the result is then false.
[[nodiscard]] DISTRIB_DECL auto is_chief(const ClusterSpec& cluster, const TaskId& task, std::error_code& ec) -> bool;
[[nodiscard]] DISTRIB_DECL auto is_chief(const ClusterSpec& cluster, const TaskId& task) -> bool;

/// Returns the number of the task among those that compute gradients: the chief first, then the workers. For an
/// evaluator returns its index.
///
/// Errors (without `ec` thrown as `std::system_error`): those of `check_role`; `cluster_errc::bad_role` also for a ps.
/// The result is then 0.
[[nodiscard]] DISTRIB_DECL auto id_in_cluster(const ClusterSpec& cluster, const TaskId& task, std::error_code& ec)
    -> std::uint32_t;
[[nodiscard]] DISTRIB_DECL auto id_in_cluster(const ClusterSpec& cluster, const TaskId& task) -> std::uint32_t;

/// Returns the number of tasks that compute gradients: chief and workers.
[[nodiscard]] DISTRIB_DECL auto rank_count(const ClusterSpec& cluster) -> std::size_t;

/// Returns the number of tasks that compute gradients (chief and workers) if `job` is chief or worker, or the number of
/// evaluators if `job` is evaluator.
///
/// Errors (without `ec` thrown as `std::system_error`): those of `check_role`; `cluster_errc::bad_role` also for a ps.
[[nodiscard]] DISTRIB_DECL auto worker_count(const ClusterSpec& cluster, std::string_view job, std::error_code& ec)
    -> std::size_t;
[[nodiscard]] DISTRIB_DECL auto worker_count(const ClusterSpec& cluster, std::string_view job) -> std::size_t;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/roles.ipp>
#endif
