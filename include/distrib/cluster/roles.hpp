// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/core/decl.hpp>

#include <cstddef>
#include <cstdint>
#include <string_view>
#include <system_error>

// Who does what in a training cluster, by the rules of TensorFlow's multi-worker utilities: jobs are chief, worker, ps
// and evaluator; the evaluator may stand outside of the cluster.

namespace distrib {
inline namespace v0 {

/// Refuses what training has no role for: another job name, a second chief or evaluator (`cluster_errc::bad_role`); a
/// job that the cluster does not have (`no_such_job`); an index that the job does not have (`no_such_task`).
DISTRIB_DECL void check_role(const ClusterSpec& cluster, const TaskId& task, std::error_code& ec);
inline void check_role(const ClusterSpec& cluster, const TaskId& task) {
  std::error_code ec;
  check_role(cluster, task, ec);
  if (ec) throw_error(ec, to_string(task));
}

/// Whether `task` initializes, restores and saves: the chief; worker 0 where there is no chief; an evaluator for its
/// own files. Fails as `check_role` does.
[[nodiscard]] DISTRIB_DECL auto is_chief(const ClusterSpec& cluster, const TaskId& task, std::error_code& ec) -> bool;
[[nodiscard]] DISTRIB_DECL auto is_chief(const ClusterSpec& cluster, const TaskId& task) -> bool;

/// Number of the task among those that compute gradients: the chief first, then the workers; an evaluator counts by
/// itself. A ps has none. Fails as `check_role` does, with `cluster_errc::bad_role` for a ps.
[[nodiscard]] DISTRIB_DECL auto id_in_cluster(const ClusterSpec& cluster, const TaskId& task, std::error_code& ec)
    -> std::uint32_t;
[[nodiscard]] DISTRIB_DECL auto id_in_cluster(const ClusterSpec& cluster, const TaskId& task) -> std::uint32_t;

/// How many tasks compute gradients: the chief, if there is one, and the workers, if there are any.
[[nodiscard]] DISTRIB_DECL auto rank_count(const ClusterSpec& cluster) -> std::size_t;

/// How many tasks compute gradients, chief and workers, as a chief or a worker sees it; how many evaluators there are,
/// as an evaluator sees it. Fails as `check_role` does, with `cluster_errc::bad_role` for a ps.
[[nodiscard]] DISTRIB_DECL auto worker_count(const ClusterSpec& cluster, std::string_view job, std::error_code& ec)
    -> std::size_t;
[[nodiscard]] DISTRIB_DECL auto worker_count(const ClusterSpec& cluster, std::string_view job) -> std::size_t;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/cluster/impl/roles.ipp>
#endif
