// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_spec.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/optimizer/updater_list.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/server/detail/server_task.hpp>
#include <distrib/ps/server/server_options.hpp>

#include <cstdint>
#include <memory>
#include <string_view>
#include <utility>

namespace distrib {
inline namespace v0 {

/// One task of a cluster, as in TensorFlow's programs of 2016:
///
///     distrib::Server server{io, cluster, flags.job_name, flags.task_index};
///     if (flags.job_name == "ps") return server.join();
///
/// Of job "ps" it listens on its address of the cluster from the constructor on and serves its shards: the first worker
/// brings the job, so a server knows no model, only a list of updaters: `updaters<MyUpdater>` adds to the standard
/// ones. Of any other job it listens on nothing: workers speak to parameter servers only.
///
/// Files are read and written on the last thread of `io`, which from then on gives way to others where processors are
/// short (a batch thread, five steps nicer than the process). Shards live on the others, with their connections: shard
/// s of the task on thread s modulo their number, so that `IoPool{n + 1}` gives each of n shards its own; one thread has
/// all. What `RpcServerOptions` limits for all connections of a thread is limited for each. Threads: one at a time; not
/// from a thread of `io`, which must outlive it.
class Server {
 public:
  /// `updaters`: a list, or whatever finds an updater by its text, on the threads of shards. Throws `cluster_errc` when
  /// the cluster has no such task, `net_errc::address_in_use` with the address when another process has it (a second
  /// process of this task, most likely) or that of `ServerOptions::metrics`, `ps_errc::directory_in_use` when another
  /// process of this task has `ServerOptions::directory` and goes on to have it for `lock_within`, and what `Listener`
  /// throws.
  DISTRIB_DECL Server(IoPool& io, const ClusterSpec& cluster, std::string_view job_name, std::uint32_t task_index,
                      UpdaterFinder updaters = StandardUpdaters{}, ServerOptions options = {});
  Server(const Server&) = delete;
  auto operator=(const Server&) -> Server& = delete;

  /// Ends every connection at once, and waits for what is under way on the pool, a cut that is being written too.
  ~Server() = default;

  /// The port it listens on; 0 when it does not.
  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return task_ ? task_->port() : std::uint16_t{0}; }

  /// The port that metrics are shown at; 0 when they are not.
  [[nodiscard]] auto metrics_port() const noexcept -> std::uint16_t {
    return task_ ? task_->metrics_port() : std::uint16_t{0};
  }

  /// Serves until the job is over; completes with `void(int)`, once: the protocol's exit code. 0 every worker is done; 1
  /// it was asked to end, or nobody came: start it again; 65 a worker was refused something after it had joined, which
  /// ends the job, or another process of this task has the directory that the job says; 70 a worker was lost for good,
  /// 74 a cut could not be written.
  /// `why()` names whom or what. Signals are the caller's business: see `stop`. Throws `ps_errc::not_a_server` of a job
  /// that is not "ps".
  template <class Token>
  auto async_join(Token&& token) {
    return asio::async_initiate<Token, void(int)>(
        [task = &this->task()](auto handler) {
          const auto executor = asio::get_associated_executor(handler, task->executor());
          auto kept = std::make_shared<decltype(handler)>(std::move(handler));
          task->join([executor, kept](int code) { asio::post(executor, [kept, code] { std::move (*kept)(code); }); });
        },
        token);
  }

  /// The same, blocking. SIGINT and SIGTERM have the shards saved first.
  [[nodiscard]] auto join() -> int {
    asio::io_context here{1};
    return join(here);
  }

  /// The same; meanwhile runs what others post to `here`, which nobody else may run.
  [[nodiscard]] DISTRIB_DECL auto join(asio::io_context& here) -> int;

  /// Asks it to save and end; from any thread.
  void stop() { task().stop(); }

  /// Why it ended with another code than 0; after `join`.
  [[nodiscard]] auto why() const -> const Error& { return task_->why(); }

 private:
  auto task() -> detail::ServerTask& {
    if (!task_) throw_error(ps_errc::not_a_server, "Server");
    return *task_;
  }

  std::unique_ptr<detail::ServerTask> task_;  // null: not a ps
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/impl/server.ipp>
#endif
