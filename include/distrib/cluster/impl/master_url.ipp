// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/master_url.hpp>

#include <distrib/core/error.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto master_url(const ClusterSpec& cluster, const std::optional<TaskId>& task, std::string_view rpc_layer,
                             std::error_code& ec) -> std::string {
  ec.clear();
  if (!task) return {};
  const std::string address = cluster.task_address(task->job, task->index, ec);
  return ec || rpc_layer.empty() ? address : std::string{rpc_layer} + "://" + address;
}

DISTRIB_DECL auto master_url(const ClusterSpec& cluster, const std::optional<TaskId>& task, std::string_view rpc_layer)
    -> std::string {
  std::error_code ec;
  std::string url = master_url(cluster, task, rpc_layer, ec);
  if (ec) throw_error(ec, to_string(*task));
  return url;
}

}  // namespace v0
}  // namespace distrib
