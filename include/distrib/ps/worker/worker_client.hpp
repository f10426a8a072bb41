// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/net/connection.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/worker/worker_client_options.hpp>
#include <distrib/ps/worker/worker_node.hpp>
#include <distrib/rpc/client_core.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a worker tells whoever computes for it, on the executor. None may call the client back from inside.
class WorkerOwner {
 public:
  virtual ~WorkerOwner() = default;
  virtual void prepare(Prepare work) = 0;  ///< Then `prepared`. Only of jobs with tables.
  /// Then `computed`. `counted`: steps, or contributions of all ranks, that are known to be counted.
  virtual void compute(Compute work, Step counted) = 0;
  virtual void saved(Step step) = 0;       ///< Every shard has a durable cut of this step. Synchronous only.
  virtual void ended(WorkerEnd end) = 0;   ///< Once; nothing follows.
};

/// One worker over TCP: a connection to each replica of each shard, made anew whenever it is lost, and the node that
/// speaks over them. A replica that cannot be reached is a matter of patience while another one of its shard can be.
/// Waits are events: nothing sleeps, and each has a deadline.
///
/// Threads: one at a time, which is the executor's; a heap object that its handlers hold. `owner` must live until
/// `ended`.
class WorkerClient : private WorkerShell, public std::enable_shared_from_this<WorkerClient> {
 public:
  using Executor = asio::io_context::executor_type;

  /// `servers`: the address of each ps task.
  DISTRIB_DECL WorkerClient(const Executor& executor, const Job& job, Rank rank, std::vector<Address> servers,
                            WorkerClientOptions options, CutSettings cuts, WorkerOwner& owner);
  WorkerClient(const WorkerClient&) = delete;
  auto operator=(const WorkerClient&) -> WorkerClient& = delete;
  /// Dropped before `ended`: connections, which their handlers hold, have nobody to tell any more.
  DISTRIB_DECL ~WorkerClient() override;

  DISTRIB_DECL void start();

  DISTRIB_DECL void prepared(Step step, std::vector<WantedRows> rows);

  /// `next`: of jobs with tables, the rows that the next contribution needs.
  DISTRIB_DECL void computed(std::uint64_t ticket, std::vector<SharedBuffer> blocks, std::vector<WantedRows> next = {});

  /// Finish what is in flight, then leave: ended with code 1.
  DISTRIB_DECL void stop();

 private:
  using Clock = std::chrono::steady_clock;

  /// One replica's connection; its owner in the sense of `Connection`.
  struct Link {
    Link(const Executor& executor, WorkerClient& of, std::uint32_t number, std::uint32_t of_task,
         std::uint32_t service_of)
        : client{&of}, replica{number}, task{of_task}, service{service_of}, pause{executor} {}

    WorkerClient* client;
    std::uint32_t replica;
    std::uint32_t task;
    std::uint32_t service;       // of that task
    std::unique_ptr<Connector> connector;
    detail::SteadyTimer pause;
    std::shared_ptr<Connection<ClientCore, Link>> connection;
    bool was_connected = false;
    bool greeted = false;        // the connection has heard of the server
    unsigned failures = 0;       // connections in a row that did not
    Instant deadline{};          // of being connected again
    Instant told{};

    void on_activity(Instant now) { client->on_activity(*this, now); }
  };

  [[nodiscard]] DISTRIB_DECL auto name_of(const Link& link) const -> std::string;
  DISTRIB_DECL void connect(Link& link);
  DISTRIB_DECL void connected(Link& link, const Error& error, std::optional<TcpSocket> socket);
  DISTRIB_DECL void on_activity(Link& link, Instant now);
  DISTRIB_DECL void lost(Link& link);
  DISTRIB_DECL void connect_after(Link& link, std::chrono::milliseconds pause);
  DISTRIB_DECL void greeted(Link& link);

  // While another replica of its shard is there, or may yet be, it is tried on.
  DISTRIB_DECL void cannot_reach(Link& link, const std::error_code& reason);

  // Has what the node has said written.
  DISTRIB_DECL void flush();

  // --- what the node tells ---

  void prepare(Prepare work) override { owner_.prepare(work); }
  void compute(Compute work) override { owner_.compute(std::move(work), counted_); }
  void sent(std::uint32_t) override {}  // flushed after each event
  void moved(Step counted) override { counted_ = std::max(counted_, counted); }
  void saved(Step step) override { owner_.saved(step); }
  DISTRIB_DECL void not_repeatable(Step step) override;
  DISTRIB_DECL void done(WorkerDone end) override;
  DISTRIB_DECL void failed(const Error& why) override;
  DISTRIB_DECL void fail(int code, const Error& why);
  DISTRIB_DECL void finish_when_quiet();
  DISTRIB_DECL void finish();
  DISTRIB_DECL void tell(Event::Kind kind, const Link& link, const std::error_code& code, const std::string& text);

  static constexpr std::chrono::seconds tell_every{2};
  static constexpr std::chrono::milliseconds longest_pause{500};

  Executor executor_;
  std::vector<Address> servers_;
  WorkerClientOptions options_;
  std::uint32_t shards_;
  WorkerOwner& owner_;
  WorkerNode node_;
  std::deque<Link> links_;  // one a replica
  detail::SteadyTimer hang_up_;
  Step counted_ = 0;
  WorkerEnd end_;
  bool ended_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/worker/impl/worker_client.ipp>
#endif
