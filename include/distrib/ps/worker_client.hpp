// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connect.hpp>
#include <distrib/net/connection.hpp>
#include <distrib/ps/cut_settings.hpp>
#include <distrib/ps/error.hpp>
#include <distrib/ps/exit_code.hpp>
#include <distrib/ps/job.hpp>
#include <distrib/ps/messages.hpp>
#include <distrib/ps/methods.hpp>
#include <distrib/ps/worker_action.hpp>
#include <distrib/ps/worker_client_options.hpp>
#include <distrib/ps/worker_node.hpp>
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

namespace distrib::inline v0 {

/// What a worker tells who computes for it, on the executor. None may call the client back from inside.
class WorkerOwner {
 public:
  virtual ~WorkerOwner() = default;
  virtual void prepare(Prepare work) = 0;                ///< Then `prepared`. Only of jobs with tables.
  virtual void compute(Compute work, Step counted) = 0;  ///< Then `computed`. `counted`: steps, or contributions of all, heard of.
  virtual void saved(Step step) = 0;                     ///< Every shard has a durable cut of this step. Synchronous only.
  virtual void ended(WorkerEnd end) = 0;                 ///< Once; nothing follows.
};

/// One worker over TCP: a connection to each shard, made anew whenever it is lost, and the node that speaks over them.
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
      : executor_{executor}, servers_{std::move(servers)}, options_{std::move(options)},
        shards_per_task_{job.shards_per_task}, owner_{owner},
        node_{job, rank, options_.worker, std::move(cuts), *this}, hang_up_{executor} {
    for (std::uint32_t shard = 0; shard < job.shards(); ++shard) links_.emplace_back(executor);
  }
  WorkerClient(const WorkerClient&) = delete;
  auto operator=(const WorkerClient&) -> WorkerClient& = delete;
  /// Dropped before `ended`: connections, which their handlers hold, have nobody to tell any more.
  ~WorkerClient() override {
    for (Link& link : links_)
      if (link.connection != nullptr) link.connection->close();
  }

  void start() {
    std::uint32_t number = 0;
    for (Link& link : links_) {
      link.client = this;
      link.shard = number++;
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

  /// One shard's connection; its owner in the sense of `Connection`.
  struct Link {
    explicit Link(const Executor& executor) : pause{executor} {}

    WorkerClient* client = nullptr;
    std::uint32_t shard = 0;
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

  [[nodiscard]] auto task_of(std::uint32_t shard) const -> std::uint32_t { return shard / shards_per_task_; }
  [[nodiscard]] auto name_of(std::uint32_t shard) const -> std::string {
    return "/job:ps/task:" + std::to_string(task_of(shard)) + " at " + servers_[task_of(shard)].to_string();
  }

  void connect(Link& link) {
    const std::uint32_t shard = link.shard;
    link.told = Clock::now();
    ConnectOptions how;
    how.deadline = link.deadline;
    how.longest_pause = std::chrono::milliseconds{500};
    how.waiting = [this, shard](const Error& missing, std::chrono::milliseconds waited) {
      Link& of = links_[shard];
      if (Clock::now() - of.told < tell_every) return;
      of.told = Clock::now();
      tell(Event::Kind::waiting, shard, missing.code,
           "waiting for " + name_of(shard) + " since " + std::to_string(waited.count() / 1000) + " s: " +
               missing.code.message());
    };
    link.connector = std::make_unique<Connector>(executor_, servers_[task_of(shard)], std::move(how),
                                                 [this, shard](const Error& error, std::optional<TcpSocket> socket) {
                                                   const auto self = this->shared_from_this();
                                                   connected(shard, error, std::move(socket));
                                                 });
  }

  void connected(std::uint32_t shard, const Error& error, std::optional<TcpSocket> socket) {
    Link& link = links_[shard];
    if (ended_ || node_.over()) return;
    if (error) return cannot_reach(link, error.code);
    RpcClientOptions rpc = options_.rpc;
    rpc.service = shard % shards_per_task_;
    rpc.categories = ps_categories();
    const Instant now = Clock::now();
    link.greeted = false;
    link.connection = std::make_shared<Connection<ClientCore, Link>>(*std::move(socket), link, rpc, now, draw_nonce());
    node_.connected(shard, link.connection->core(), now);
    flush();
  }

  void on_activity(Link& link, Instant now) {
    const auto self = this->shared_from_this();
    const auto connection = link.connection;
    if (connection == nullptr) return;
    ClientEvent event;
    while (connection->core().next(now, event)) {
      if (event.kind == ClientEvent::Kind::greeted) greeted(link);
      node_.happened(link.shard, event, now);
      if (link.connection != connection) return;  // it was all over
    }
    if (connection->core().finished()) lost(link);
    flush();
  }

  void lost(Link& link) {
    const auto connection = std::exchange(link.connection, nullptr);
    connection->detach();
    connection->settle();
    node_.disconnected(link.shard);
    if (node_.over()) return finish_when_quiet();
    const Error& reason = connection->core().reason();
    if (reason.code == rpc_errc::unknown_service || reason.code == rpc_errc::unsupported_version ||
        reason.code == rpc_errc::unauthorized)
      return fail(exit_code::refused, {reason.code, name_of(link.shard) + ": " + reason.where});
    const Instant now = Clock::now();
    if (link.greeted) {
      tell(Event::Kind::lost, link.shard, reason.code, "lost " + name_of(link.shard) + ": " + reason.code.message());
      link.failures = 0;
      // What is done is done: a server that is gone then has nothing more to say.
      link.deadline = now + (node_.everything_saved() ? options_.goodbye_within : options_.lost_after);
    }
    if (now >= link.deadline) return cannot_reach(link, reason.code);
    // Somebody who takes connections and gives none back is asked ever more seldom.
    link.pause.expires_after(std::chrono::milliseconds{link.failures == 0 ? 0 : 50 << std::min(link.failures, 5U)});
    ++link.failures;
    link.pause.async_wait([self = this->shared_from_this(), &link](const std::error_code& ec) {
      if (!ec && !self->ended_ && !self->node_.over()) self->connect(link);
    });
  }

  void greeted(Link& link) {
    link.greeted = true;
    if (link.was_connected) tell(Event::Kind::connected, link.shard, {}, name_of(link.shard) + " is there again");
    link.was_connected = true;
  }

  void cannot_reach(const Link& link, const std::error_code& reason) {
    const bool for_good = link.was_connected && !node_.everything_saved();
    fail(for_good ? exit_code::somebody_lost : exit_code::again, {reason, name_of(link.shard)});
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
      options_.observer({Event::Kind::not_repeatable, {}, {}, ps_errc::not_repeatable,
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

  void tell(Event::Kind kind, std::uint32_t shard, const std::error_code& code, const std::string& text) {
    if (options_.observer) options_.observer({kind, {}, "/job:ps/task:" + std::to_string(task_of(shard)), code, text});
  }

  static constexpr std::chrono::seconds tell_every{2};

  Executor executor_;
  std::vector<Address> servers_;
  WorkerClientOptions options_;
  std::uint32_t shards_per_task_;
  WorkerOwner& owner_;
  WorkerNode<Core> node_;
  std::deque<Link> links_;  // one a shard
  detail::SteadyTimer hang_up_;
  Step counted_ = 0;
  WorkerEnd end_;
  bool ended_ = false;
};

}  // namespace distrib::inline v0
