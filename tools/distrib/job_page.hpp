// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/page_thread.hpp>
#include <distrib/net/transport.hpp>
#include <distrib/ps/server/status_page.hpp>
#include <distrib/ps/wire/shard_status.hpp>
#include <distrib/ps/worker/ask_status.hpp>

#include <chrono>
#include <condition_variable>
#include <deque>
#include <memory>
#include <mutex>
#include <optional>
#include <string>
#include <thread>
#include <vector>

namespace tools {

/// Serves the status page of a whole cluster (`distrib::status_page`) by two threads of its own: one answers visitors,
/// the other asks all parameter servers each second, as long as the page is visited.
///
/// Threads: any.
class JobPage {
 public:
  /// Listens from now on. `transport`: the page is served over HTTPS, and the parameter servers are asked by it; null:
  /// both are plain. The secret is that of the job (`SharedSecret::of_job`). Throws `std::system_error` if it cannot
  /// listen, or if the secret cannot be read.
  JobPage(const distrib::Address& address, const distrib::ClusterSpec& cluster,
          std::shared_ptr<const distrib::Transport> transport);
  JobPage(const JobPage&) = delete;
  auto operator=(const JobPage&) -> JobPage& = delete;
  /// Waits for the answers of the parameter servers that it is asking: up to 2 s for each.
  ~JobPage();

  /// Returns where the page is: "http://127.0.0.1:8000/".
  [[nodiscard]] auto url() const -> const std::string& { return url_; }

  /// Adds an event, and replaces the list of processes.
  void tell(std::string text, std::vector<distrib::StatusProcess> processes);

 private:
  void ask();

  std::vector<distrib::Address> servers_;
  distrib::AskOptions how_;
  std::string url_;

  std::mutex mutex_;  // protects what follows, up to the next empty line
  std::condition_variable wake_;
  std::vector<distrib::ShardStatus> shards_;
  std::deque<distrib::StatusEvent> events_;
  std::vector<distrib::StatusProcess> processes_;
  std::chrono::steady_clock::time_point looked_{};  // when the data was wanted last
  bool over_ = false;

  std::optional<distrib::PageThread> pages_;
  std::thread asking_;
};

}  // namespace tools
