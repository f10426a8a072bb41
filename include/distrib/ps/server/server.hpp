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
/// A task of job "ps" listens on its address of the cluster from the constructor on and serves its shards. The first
/// worker sends the job, so a server knows no model, only a list of updaters: `updaters<MyUpdater>` adds to the
/// standard ones. A task of any other job does not listen: workers connect to parameter servers only.
///
/// Files are read and written on the last thread of `io`. From then on that thread has a lower priority: it is a batch
/// thread, five steps nicer than the process. Shards live on the other threads, with their connections: shard s of the
/// task on thread s modulo the number of these threads. So `IoPool{n + 1}` gives each of n shards its own thread. With
/// one thread, it does all. One more thread, which is as nice, writes what no position of an export log waits for.
/// Limits of `RpcServerOptions` for all connections of a thread apply to each thread.
///
/// Threads: one at a time, but not a thread of `io`. `io` must outlive the server.
class Server {
 public:
  /// `updaters`: a list, or another function that finds an updater by its text; it is called on the threads of shards.
  ///
  /// Errors: throws `cluster_errc` if the cluster has no such task; `net_errc::address_in_use` with the address if
  /// another process (most likely one of this task) uses it or `ServerOptions::metrics`; `ps_errc::directory_in_use` if
  /// another process of this task uses `ServerOptions::directory` and does not release it within `lock_within`; and
  /// what `Listener` throws.
  DISTRIB_DECL Server(IoPool& io, const ClusterSpec& cluster, std::string_view job_name, std::uint32_t task_index,
                      UpdaterFinder updaters = StandardUpdaters{}, ServerOptions options = {});
  Server(const Server&) = delete;
  auto operator=(const Server&) -> Server& = delete;

  /// Closes all connections at once, and waits for the work on the pool, including a cut that is being written.
  ~Server() = default;

  /// Returns the port on which it listens; 0 if it does not.
  [[nodiscard]] auto port() const noexcept -> std::uint16_t { return task_ ? task_->port() : std::uint16_t{0}; }

  /// Returns the port of the metrics; 0 if they are not shown.
  [[nodiscard]] auto metrics_port() const noexcept -> std::uint16_t {
    return task_ ? task_->metrics_port() : std::uint16_t{0};
  }

  /// Serves until the job is over. Must be called at most once. Completes once with `void(int)`, the exit code of the
  /// task; if the server is destroyed before, the handler is destroyed without a call.
  ///
  /// - 0: every worker is done.
  /// - 1: it was asked to stop, or no worker connected in time; start it again.
  /// - 65: a call of a worker was refused after it had joined, which ends the job; or another process of this task uses
  ///   the directory that the job names.
  /// - 70: a worker is lost permanently.
  /// - 74: a cut could not be written or read, or a loaded state needs more memory than there is.
  ///
  /// `why()` names the worker, file or address. The caller handles signals, see `stop`.
  ///
  /// Errors: throws `ps_errc::not_a_server` if the task is not of job "ps".
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

  /// Serves as `async_join` does, but blocks, and returns the exit code. SIGINT and SIGTERM save the shards, then end
  /// it.
  ///
  /// Errors: throws `ps_errc::not_a_server` if the task is not of job "ps".
  [[nodiscard]] auto join() -> int {
    asio::io_context here{1};
    return join(here);
  }

  /// This overload also runs what is posted to `here` meanwhile. Only this function may run `here`; it stops it at the
  /// end.
  [[nodiscard]] DISTRIB_DECL auto join(asio::io_context& here) -> int;

  /// Asks the server to save its shards and end, with code 1. May be called from any thread. Throws
  /// `ps_errc::not_a_server` if the task is not of job "ps".
  void stop() { task().stop(); }

  /// Returns why it ended with another code than 0; no error: it is done, or was asked to stop and has saved. Only
  /// after `join`.
  [[nodiscard]] auto why() const -> const Error& { return task_->why(); }

 private:
  auto task() -> detail::ServerTask& {
    if (!task_) throw_error(ps_errc::not_a_server, "Server");
    return *task_;
  }

  std::unique_ptr<detail::ServerTask> task_;  // null: not a task of job "ps"
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/impl/server.ipp>
#endif
