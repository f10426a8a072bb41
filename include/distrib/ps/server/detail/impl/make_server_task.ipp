// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/server/detail/make_server_task.hpp>

#include <distrib/ps/server/detail/task_shell.hpp>

#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto make_server_task(IoPool& io, const ClusterSpec& cluster, std::uint32_t index, ShardKinds kinds,
                                   ServerOptions options) -> std::unique_ptr<ServerTask> {
  auto task = std::make_unique<TaskShell>(io, cluster, index, std::move(kinds), std::move(options));
  task->start();
  return task;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
