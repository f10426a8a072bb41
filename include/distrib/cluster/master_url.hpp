// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/core/error.hpp>

#include <optional>
#include <string>
#include <string_view>
#include <system_error>

namespace distrib {
inline namespace v0 {

/// Where a resolver's `master` sends a session: the address of `task` behind "LAYER://", or alone when `rpc_layer` is
/// ""; "" while it is not known which task this is. Fails with `cluster_errc::no_such_job`, `no_such_task`.
[[nodiscard]] inline auto master_url(const ClusterSpec& cluster, const std::optional<TaskId>& task,
                                     std::string_view rpc_layer, std::error_code& ec) -> std::string {
  ec.clear();
  if (!task) return {};
  const std::string address = cluster.task_address(task->job, task->index, ec);
  return ec || rpc_layer.empty() ? address : std::string{rpc_layer} + "://" + address;
}
[[nodiscard]] inline auto master_url(const ClusterSpec& cluster, const std::optional<TaskId>& task,
                                     std::string_view rpc_layer) -> std::string {
  std::error_code ec;
  std::string url = master_url(cluster, task, rpc_layer, ec);
  if (ec) throw_error(ec, to_string(*task));
  return url;
}

}  // namespace v0
}  // namespace distrib
