// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/server/server.hpp>

#include <distrib/cluster/roles.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/net/signals.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/ps/server/detail/make_server_task.hpp>

#include <string>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL Server::Server(IoPool& io, const ClusterSpec& cluster, std::string_view job_name, std::uint32_t task_index,
                            UpdaterFinder updaters, ServerOptions options) {
  const TaskId task{std::string{job_name}, task_index};
  check_role(cluster, task);
  if (job_name != "ps") return;
  task_ = detail::make_server_task(io, cluster, task_index, shard_kinds(std::move(updaters)), std::move(options));
}

DISTRIB_DECL auto Server::join(asio::io_context& here) -> int {
  int code = 0;
  const Signals signals{here, [this] { task().stop(); }};
  const auto work = asio::make_work_guard(here);
  async_join([&here, &code](int ended) {
    asio::post(here, [&here, &code, ended] {
      code = ended;
      here.stop();
    });
  });
  here.run();
  return code;
}

}  // namespace v0
}  // namespace distrib
