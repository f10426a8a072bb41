// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/address.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/net/connection.hpp>
#include <distrib/net/peer_connector.hpp>
#include <distrib/net/peer_stream.hpp>
#include <distrib/net/transport_refresh.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/worker/phase_clock.hpp>
#include <distrib/ps/worker/worker_client_options.hpp>
#include <distrib/ps/worker/worker_node.hpp>
#include <distrib/rpc/client_core.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <memory>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a worker asks of the object that computes for it, on the executor. No member may call the client.
class WorkerOwner {
 public:
  virtual ~WorkerOwner() = default;
  virtual void prepare(Prepare work) = 0;  ///< Then call `prepared`. Only in jobs with tables.
  /// Then call `computed`. `counted`: steps, or contributions of all ranks, that are counted as far as is known.
  virtual void compute(Compute work, Step counted) = 0;
  virtual void saved(Step step) = 0;  ///< Every shard has a durable cut of this step. Synchronous jobs only.
  virtual void counted(Step) {}  ///< Every shard has counted this contribution. Asynchronous jobs only.
  virtual void ended(WorkerEnd end) = 0;  ///< Called once; nothing follows.
};

/// One worker over TCP: a connection to each replica of each shard, opened again whenever it is lost, and the node that
/// uses these connections. The client goes on trying to reach a replica while another replica of the same shard can be
/// reached. All waits are events with a deadline; nothing sleeps.
///
/// Threads: one at a time, the executor's. Must be owned by a shared_ptr; its handlers keep it alive. `owner` must live
/// until `ended`.
class WorkerClient : private WorkerShell, public std::enable_shared_from_this<WorkerClient> {
 public:
  using Executor = asio::io_context::executor_type;

  /// `servers`: the address of each ps task, in the order of their indexes. Throws `ps_errc::shard_too_large` if the
  /// dense values of a shard are larger than a message that the worker accepts (`FrameLimits::body_bytes`).
  DISTRIB_DECL WorkerClient(const Executor& executor, const Job& job, Rank rank, std::vector<Address> servers,
                            WorkerClientOptions options, CutSettings cuts, WorkerOwner& owner);
  WorkerClient(const WorkerClient&) = delete;
  auto operator=(const WorkerClient&) -> WorkerClient& = delete;
  /// Closes the connections if they are still open: their handlers keep them alive, and must not call this object any
  /// more.
  DISTRIB_DECL ~WorkerClient() override;

  /// Starts to connect to all servers. Must be called once.
  DISTRIB_DECL void start();

  /// The rows that `WorkerOwner::prepare` asked for, one entry per shard.
  DISTRIB_DECL void prepared(Step step, std::vector<WantedRows> rows);

  /// The contribution that `WorkerOwner::compute` asked for, one block per shard. `next`: in jobs with tables, the rows
  /// that the next contribution needs.
  DISTRIB_DECL void computed(std::uint64_t ticket, std::vector<SharedBuffer> blocks, std::vector<WantedRows> next = {});

  /// Finishes the contribution that is being computed, then leaves: ends with code 1.
  DISTRIB_DECL void stop();

  /// Leaves at once, without the contribution that `WorkerOwner::compute` asked for: ends with code 1.
  DISTRIB_DECL void abandon();
  /// With `WorkerOptions::on_demand`: asks for the newest values; `WorkerOwner::compute` follows. The contribution of
  /// an earlier `compute` is dropped.
  DISTRIB_DECL void want();
  /// With `WorkerOptions::on_demand`: no contribution follows. Ends with code 0 when everything is saved.
  DISTRIB_DECL void finish_job();
  /// Returns the last contribution that was made, or was counted when this worker started.
  [[nodiscard]] auto step() const noexcept -> Step { return node_.step(); }
  /// Returns the ps tasks that this worker waits for, ascending: see `AsyncWorkerCore::awaits`.
  [[nodiscard]] DISTRIB_DECL auto awaited_tasks() const -> std::vector<std::uint32_t>;

 private:
  using Clock = std::chrono::steady_clock;

  /// The connection to one replica; an owner in the sense of `Connection`.
  struct Link {
    Link(const Executor& executor, WorkerClient& of, std::uint32_t number, std::uint32_t of_task,
         std::uint32_t service_of)
        : client{&of}, replica{number}, task{of_task}, service{service_of}, pause{executor} {}

    WorkerClient* client;
    std::uint32_t replica;
    std::uint32_t task;
    std::uint32_t service;  // number of the service on that task
    std::unique_ptr<PeerConnector> connector;
    detail::SteadyTimer pause;
    std::shared_ptr<Connection<ClientCore, Link>> connection;
    bool was_connected = false;
    bool greeted = false;  // the server has greeted on this connection
    bool touched = false;  // it is in `touched_`
    unsigned failures = 0;  // consecutive connections on which the server did not greet
    Instant deadline{};  // when to give up connecting
    Instant told{};  // when the wait began, or was last reported

    void on_activity(Instant now) { client->on_activity(*this, now); }
  };

  [[nodiscard]] DISTRIB_DECL auto name_of(const Link& link) const -> std::string;
  DISTRIB_DECL void connect(Link& link);
  DISTRIB_DECL void connected(Link& link, const Error& error, std::optional<PeerStream> stream);
  DISTRIB_DECL void on_activity(Link& link, Instant now);
  DISTRIB_DECL void lost(Link& link);
  // True if another attempt would end in the same way.
  DISTRIB_DECL static auto is_refusal(const std::error_code& code) -> bool;
  // Connects after a part of this pause, which is drawn.
  DISTRIB_DECL void connect_after(Link& link, std::chrono::milliseconds pause);
  DISTRIB_DECL void greeted(Link& link);

  // The time for this replica is over. Tries again if another replica of its shard is connected or still has time.
  // Otherwise ends, with code 70 if the server was reached before and not everything is saved, else with code 1.
  DISTRIB_DECL void cannot_reach(Link& link, const std::error_code& reason);

  // The node has made calls on this connection, or the connection had an event: `flush` settles it.
  void touch(Link& link) {
    if (!std::exchange(link.touched, true)) touched_.push_back(&link);
  }
  // Writes the calls that the node has made. Looks at the connections that were touched, not at all.
  DISTRIB_DECL void flush();

  // Tells how many bytes are kept to be sent again, if that has changed.
  DISTRIB_DECL void tell_replay(std::size_t bytes);

  // Measures: whether everything is written, and whether values arrive.
  DISTRIB_DECL void look_at_sockets(Instant now, bool arriving);

  // --- what the node calls ---

  void prepare(Prepare work) override { owner_.prepare(work); }
  void compute(Compute work) override {
    if (phases_.measures()) phases_.computing(work.step, counted_, Clock::now());
    owner_.compute(std::move(work), counted_);
  }
  void sent(std::uint32_t replica) override { touch(links_[replica]); }  // `flush` writes them after each event
  void moved(Step counted) override {
    counted_ = std::max(counted_, counted);
    if (phases_.measures()) look_at_sockets(Clock::now(), true);
  }
  void saved(Step step) override { owner_.saved(step); }
  void counted(Step step) override { owner_.counted(step); }
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
  PhaseClock phases_;
  std::deque<Link> links_;  // one per replica
  std::vector<Link*> touched_;
  detail::SteadyTimer hang_up_;
  std::optional<TransportRefresh> refresh_;  // from the start to the end
  std::uint64_t jitter_;  // by which pauses are drawn: all workers of a job lose a server at one moment
  std::uint64_t pauses_ = 0;
  Step counted_ = 0;
  std::size_t replay_told_ = 0;  // see `tell_replay`
  WorkerEnd end_;
  bool ended_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/worker/impl/worker_client.ipp>
#endif
