// SPDX-License-Identifier: Apache-2.0
// A whole cluster in this process: real servers and workers that communicate over the loopback device.
#pragma once

#include <distrib/ps/server/server.hpp>
#include <distrib/train/cluster_trainer.hpp>

#include "support/catch.hpp"

#include <atomic>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <thread>
#include <vector>

namespace loopback_cluster {

/// Runs a job with this number of parameter servers and workers; all must end with 0. Returns the chief's result.
template <class Builder>
auto run(const Builder& builder, std::size_t servers, std::uint32_t workers) -> distrib::TrainingResult {
  distrib::IoPool pool{2};
  distrib::ClusterFlags flags;
  flags.job_name = "worker";
  flags.worker_hosts.assign(workers, "127.0.0.1:1");  // no task connects to a worker
  const std::vector<std::string> any_port(servers, "127.0.0.1:0");
  const distrib::ClusterSpec cluster{{"ps", any_port}, {"worker", flags.worker_hosts}};
  std::vector<std::unique_ptr<distrib::Server>> ps;
  for (std::uint32_t task = 0; task < servers; ++task) {
    ps.push_back(std::make_unique<distrib::Server>(pool, cluster, "ps", task));
    flags.ps_hosts.push_back("127.0.0.1:" + std::to_string(ps.back()->port()));
  }
  std::atomic<int> failed = 0;
  std::vector<std::thread> others;
  for (std::uint32_t rank = 1; rank < workers; ++rank)
    others.emplace_back([&builder, &pool, &failed, of = flags, rank]() mutable {
      of.task_index = rank;
      auto trainer = builder.build(pool, of);
      if (trainer.run() != 0) ++failed;
    });
  auto chief = builder.build(pool, flags);
  CHECK(chief.run() == 0);
  for (std::thread& other : others) other.join();
  CHECK(failed == 0);
  for (const auto& server : ps) CHECK(server->join() == 0);
  return chief.result();
}

}  // namespace loopback_cluster
