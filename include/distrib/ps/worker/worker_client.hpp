// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/net/connection.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/wire/messages.hpp>
#include <distrib/ps/worker/worker_client_options.hpp>
#include <distrib/ps/worker/worker_node.hpp>
#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/error.hpp>
#include <distrib/rpc/nonce.hpp>

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
template <class Core>
class WorkerClient : private WorkerShell, public std::enable_shared_from_this<WorkerClient<Core>> {
 public:
  using Executor = asio::io_context::executor_type;

  /// `servers`: the address of each ps task.
  WorkerClient(const Executor& executor, const Job& job, Rank rank, std::vector<Address> servers,
               WorkerClientOptions options, CutSettings cuts, WorkerOwner& owner)
      : executor_{executor},
        servers_{std::move(servers)},
        options_{std::move(options)},
        shards_{job.shards()},
        owner_{owner},
        node_{job, rank, options_.worker, std::move(cuts), *this},
        hang_up_{executor} {
    for (std::uint32_t replica = 0; replica < job.num_replicas(); ++replica)
      links_.emplace_back(executor, *this, replica, job.task_of(replica), job.service_of(replica));
  }
  WorkerClient(const WorkerClient&) = delete;
  auto operator=(const WorkerClient&) -> WorkerClient& = delete;
  /// Dropped before `ended`: connections, which their handlers hold, have nobody to tell any more.
  ~WorkerClient() override {
    for (Link& link : links_)
      if (link.connection != nullptr) link.connection->close();
  }

  void start() {
    for (Link& link : links_) {
      link.deadline = Clock::now() + options_.start_within;
      connect(link);
    }
  }

  void prepared(Step step, std::vector<WantedRows> rows) {
    node_.prepared(step, std::move(rows), Clock::now());
    flush();
  }

  /// `next`: of jobs with tables, the rows that the next contribution needs.
  void computed(std::uint64_t ticket, std::vector<SharedBuffer> blocks, std::vector<WantedRows> next = {}) {
    node_.computed(ticket, std::move(blocks), Clock::now(), std::move(next));
    flush();
  }

  /// Finish what is in flight, then leave: ended with code 1.
  void stop() {
    if (ended_) return;
    node_.stop(Clock::now());
    flush();
  }

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

  [[nodiscard]] auto name_of(const Link& link) const -> std::string {
    return "/job:ps/task:" + std::to_string(link.task) + " at " + servers_[link.task].to_string();
  }

  void connect(Link& link) {
    link.told = Clock::now();
    ConnectOptions how;
    how.deadline = link.deadline;
    how.longest_pause = longest_pause;
    how.waiting = [this, &link](const Error& missing, std::chrono::milliseconds waited) {
      if (Clock::now() - link.told < tell_every) return;
      link.told = Clock::now();
      tell(Event::Kind::waiting, link, missing.code,
           "waiting for " + name_of(link) + " since " + std::to_string(waited.count() / 1000) +
               " s: " + missing.code.message());
    };
    link.connector = std::make_unique<Connector>(executor_, servers_[link.task], std::move(how),
                                                 [this, &link](const Error& error, std::optional<TcpSocket> socket) {
                                                   const auto self = this->shared_from_this();
                                                   connected(link, error, std::move(socket));
                                                 });
  }

  void connected(Link& link, const Error& error, std::optional<TcpSocket> socket) {
    if (ended_ || node_.over()) return;
    if (error) return cannot_reach(link, error.code);
    RpcClientOptions rpc = options_.rpc;
    rpc.service = link.service;
    rpc.categories = ps_categories();
    const Instant now = Clock::now();
    link.greeted = false;
    link.connection = std::make_shared<Connection<ClientCore, Link>>(*std::move(socket), link, rpc, now, draw_nonce());
    node_.connected(link.replica, link.connection->core(), now);
    flush();
  }

  void on_activity(Link& link, Instant now) {
    const auto self = this->shared_from_this();
    const auto connection = link.connection;
    if (connection == nullptr) return;
    ClientEvent event;
    while (connection->core().next(now, event)) {
      if (event.kind == ClientEvent::Kind::greeted) greeted(link);
      node_.happened(link.replica, event, now);
      if (link.connection != connection) return;  // it was all over
    }
    if (connection->core().finished()) lost(link);
    flush();
  }

  void lost(Link& link) {
    const auto connection = std::exchange(link.connection, nullptr);
    connection->detach();
    connection->settle();
    node_.disconnected(link.replica, Clock::now());
    if (node_.over()) return finish_when_quiet();
    const Error& reason = connection->core().reason();
    if (reason.code == rpc_errc::unknown_service || reason.code == rpc_errc::unsupported_version ||
        reason.code == rpc_errc::unauthorized)
      return fail(exit_code::refused, {reason.code, name_of(link) + (reason.where.empty() ? "" : ": " + reason.where)});
    const Instant now = Clock::now();
    if (link.greeted) {
      tell(Event::Kind::lost, link, reason.code, "lost " + name_of(link) + ": " + reason.code.message());
      link.failures = 0;
      // What is done is done: a server that is gone then has nothing more to say.
      link.deadline = now + (node_.everything_saved() ? options_.goodbye_within : options_.lost_after);
    }
    if (now >= link.deadline) return cannot_reach(link, reason.code);
    // Somebody who takes connections and gives none back is asked ever more seldom.
    connect_after(link, std::chrono::milliseconds{link.failures == 0 ? 0 : 50 << std::min(link.failures, 5U)});
    ++link.failures;
  }

  void connect_after(Link& link, std::chrono::milliseconds pause) {
    link.pause.expires_after(pause);
    link.pause.async_wait([self = this->shared_from_this(), &link](const std::error_code& ec) {
      if (!ec && !self->ended_ && !self->node_.over()) self->connect(link);
    });
  }

  void greeted(Link& link) {
    link.greeted = true;
    if (link.was_connected) tell(Event::Kind::connected, link, {}, name_of(link) + " is there again");
    link.was_connected = true;
  }

  // While another replica of its shard is there, or may yet be, it is tried on.
  void cannot_reach(Link& link, const std::error_code& reason) {
    const Instant now = Clock::now();
    for (const Link& other : links_)
      if (other.replica % shards_ == link.replica % shards_)
        link.deadline = std::max(link.deadline, other.connection ? now + options_.lost_after : other.deadline);
    if (link.deadline > now) return connect_after(link, longest_pause);
    const bool for_good = link.was_connected && !node_.everything_saved();
    fail(for_good ? exit_code::somebody_lost : exit_code::again, {reason, name_of(link)});
  }

  // Has what the node has said written.
  void flush() {
    for (Link& link : links_)
      if (link.connection != nullptr) link.connection->settle();
  }

  // --- what the node tells ---

  void prepare(Prepare work) override { owner_.prepare(work); }
  void compute(Compute work) override { owner_.compute(std::move(work), counted_); }
  void sent(std::uint32_t) override {}  // flushed after each event
  void moved(Step counted) override { counted_ = std::max(counted_, counted); }
  void saved(Step step) override { owner_.saved(step); }
  void not_repeatable(Step step) override {
    if (options_.observer)
      options_.observer({Event::Kind::not_repeatable,
                         {},
                         {},
                         ps_errc::not_repeatable,
                         "the contribution of step " + std::to_string(step) +
                             " came twice with different bytes: the model or its input is not repeatable"});
  }
  void done(WorkerDone end) override {
    end_ = {end.left ? exit_code::again : exit_code::done, {}, std::move(end.result)};
    for (Link& link : links_) link.connector.reset();
    hang_up_.expires_after(options_.goodbye_within);
    hang_up_.async_wait([self = this->shared_from_this()](const std::error_code& ec) {
      if (!ec) self->finish();
    });
    asio::post(executor_, [self = this->shared_from_this()] { self->finish_when_quiet(); });
  }
  void failed(const Error& why) override {
    fail(why.code == ps_errc::rank_lost ? exit_code::somebody_lost : exit_code::refused, why);
  }

  void fail(int code, const Error& why) {
    end_ = {code, why, {}};
    asio::post(executor_, [self = this->shared_from_this()] { self->finish(); });
  }

  void finish_when_quiet() {
    for (const Link& link : links_)
      if (link.connection != nullptr) return;
    finish();
  }

  void finish() {
    if (std::exchange(ended_, true)) return;
    hang_up_.cancel();
    for (Link& link : links_) {
      link.connector.reset();
      link.pause.cancel();
      if (link.connection != nullptr) std::exchange(link.connection, nullptr)->close();
    }
    owner_.ended(std::move(end_));
  }

  void tell(Event::Kind kind, const Link& link, const std::error_code& code, const std::string& text) {
    if (options_.observer) options_.observer({kind, {}, "/job:ps/task:" + std::to_string(link.task), code, text});
  }

  static constexpr std::chrono::seconds tell_every{2};
  static constexpr std::chrono::milliseconds longest_pause{500};

  Executor executor_;
  std::vector<Address> servers_;
  WorkerClientOptions options_;
  std::uint32_t shards_;
  WorkerOwner& owner_;
  WorkerNode<Core> node_;
  std::deque<Link> links_;  // one a replica
  detail::SteadyTimer hang_up_;
  Step counted_ = 0;
  WorkerEnd end_;
  bool ended_ = false;
};

}  // namespace v0
}  // namespace distrib
