// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/protocol/any_worker.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/rpc/client_core.hpp>
#include <distrib/rpc/frame_body.hpp>
#include <distrib/rpc/method.hpp>

#include <cstddef>
#include <cstdint>
#include <deque>
#include <map>
#include <memory>
#include <string>
#include <string_view>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a worker's node asks of its shell. No member may call the node.
class WorkerShell {
 public:
  virtual ~WorkerShell() = default;
  virtual void prepare(Prepare work) = 0;  ///< Then call `prepared`, on the node's thread.
  virtual void compute(Compute work) = 0;  ///< Then call `computed`, on the node's thread.
  virtual void sent(std::uint32_t shard) = 0;  ///< Calls wait in the shard's `ClientCore`: write them.
  /// Values arrived that are made of `counted` steps; asynchronous: contributions of all ranks.
  virtual void moved(Step counted) = 0;
  virtual void saved(Step step) = 0;  ///< Every shard has a durable cut of this step. Synchronous jobs only.
  virtual void counted(Step) {}  ///< Every shard has counted this contribution. Asynchronous jobs only.
  virtual void not_repeatable(Step step) = 0;  ///< A shard had this contribution before, with other bytes; those count.
  /// The worker is done. Each connection ends when its shard has answered the last call. Nothing follows.
  virtual void done(WorkerDone end) = 0;
  /// The job cannot continue: a shard refused something or sent a message that does not decode, two replicas differ, or
  /// a rank is lost permanently. Nothing follows; the shell must close the connections.
  virtual void failed(const Error& why) = 0;
};

/// One worker over rpc. Turns the actions of its core into calls of `ps/wire/messages.hpp`, on one connection per shard
/// (with replicas: per replica, by its number), and passes the answers to the core. A call for a connection that is not
/// open is dropped: when the connection is open again, the core joins and sends everything again.
///
/// Events in, actions out by calls of the shell; no clock, no I/O, no thread.
///
/// Threads: one at a time. `shell` must outlive it.
class WorkerNode {
 public:
  DISTRIB_DECL WorkerNode(const Job& job, Rank rank, const WorkerOptions& options, CutSettings cuts,
                          WorkerShell& shell);
  WorkerNode(const WorkerNode&) = delete;
  auto operator=(const WorkerNode&) -> WorkerNode& = delete;

  /// A connection to the shard is open. `link` must live until `disconnected`.
  DISTRIB_DECL void connected(std::uint32_t shard, ClientCore& link, Instant now);

  /// The connection is lost, with all calls on it.
  DISTRIB_DECL void disconnected(std::uint32_t shard, Instant now);

  [[nodiscard]] auto is_connected(std::uint32_t shard) const -> bool { return links_[shard].core != nullptr; }

  /// An event that `ClientCore::next` of the shard's connection returned.
  DISTRIB_DECL void happened(std::uint32_t shard, const ClientEvent& event, Instant now);

  /// The rows that `prepare` asked for, one entry per shard.
  DISTRIB_DECL void prepared(Step step, std::vector<WantedRows> rows, Instant now);

  /// The contribution that `compute` asked for, one block per shard; with tables also the rows that the next
  /// contribution needs.
  DISTRIB_DECL void computed(std::uint64_t ticket, std::vector<SharedBuffer> blocks, Instant now,
                             std::vector<WantedRows> next = {});

  /// Finishes the contribution that is being computed, then leaves: the job continues another time.
  DISTRIB_DECL void stop(Instant now);
  /// Leaves at once: the contribution that `compute` asked for will not be made.
  DISTRIB_DECL void abandon(Instant now);

  /// See `AsyncWorkerCore::want` and `finish`. Only with `WorkerOptions::on_demand`.
  DISTRIB_DECL void want(Instant now);
  DISTRIB_DECL void finish(Instant now);
  /// See `AsyncWorkerCore::awaits`.
  [[nodiscard]] auto awaits(std::uint32_t shard) const -> bool { return core_->awaits(shard); }

  /// True if it is done or has failed: it does not call the shell any more.
  [[nodiscard]] auto over() const noexcept -> bool { return over_; }
  [[nodiscard]] auto step() const noexcept -> Step { return core_->step(); }
  /// Returns the bytes of the contributions that are kept to be sent again.
  [[nodiscard]] auto replay_bytes() const -> std::size_t { return core_->replay_bytes(); }

  /// True if nothing of this rank is left to be saved: shards may end without another call.
  [[nodiscard]] auto everything_saved() const -> bool { return core_->everything_saved(); }

 private:
  struct Letter {
    std::uint32_t method;
    Step step;
    std::size_t answer_bytes;  // of a pull: the expected size of the values
    std::vector<std::byte> head;
    FrameBody body;
  };
  struct CallState {
    std::uint32_t method;
    Step step;
    std::size_t answer_bytes;
  };
  struct Link {
    ClientCore* core = nullptr;  // null: not connected
    std::deque<Letter> waiting;  // calls to make when fewer are in flight; many contributions may be sent again
    std::map<std::uint64_t, CallState> calls;
    std::uint64_t stream = 0;  // the call of Join; 0: none
    bool text_sent = false;  // the shard has asked for the job's text on this connection
  };

  class Out;

  template <class Event> void run(Instant now, Event&& event);
  DISTRIB_DECL void tell_progress();
  [[nodiscard]] DISTRIB_DECL auto export_number(Step step, Instant now) -> std::uint64_t;
  DISTRIB_DECL void send_join(std::uint32_t shard, Instant now);

  template <detail::RpcMethod M>
  void send(std::uint32_t shard, const typename M::Request& request, Step step, Instant now,
            std::size_t answer_bytes = 0);

  DISTRIB_DECL void pump(std::uint32_t shard, Instant now);
  DISTRIB_DECL void joined(std::uint32_t shard, const ClientEvent& event, Instant now);

  // In a job whose shards may be sent back, the core pulls again from a shard that reports where it is. So this cancels
  // the earlier pulls, which the shard may not answer for long: otherwise there would be too many calls if it is sent
  // back again and again.
  DISTRIB_DECL static void take_back_pulls(Link& link);
  DISTRIB_DECL void pulled(std::uint32_t shard, const CallState& call, const ClientEvent& event, Instant now);
  DISTRIB_DECL void pushed(std::uint32_t shard, Step step, const ClientEvent& event, Instant now);

  // A refusal by the shard is final; so is a method or message that one end does not know, and a message that is too
  // large for one. Other failures of rpc are ignored: the core sends everything again when the worker joins again.
  // Trap: nothing here joins again, so that happens only on the next connection, or when the shard sends Joined.
  DISTRIB_DECL void call_failed(std::uint32_t shard, const ClientEvent& event, Instant now);

  // Cancels all calls but Goodbye or Leave; when that is answered, the connection ends.
  DISTRIB_DECL void hang_up(std::uint32_t shard, Instant now);
  DISTRIB_DECL void end_call(std::uint32_t shard, std::uint64_t call, Instant now);
  DISTRIB_DECL void bad_message(std::uint32_t shard, std::string_view method);
  DISTRIB_DECL void fail(Error error);

  static constexpr std::size_t most_calls = 256;  // on one connection

  std::unique_ptr<AnyWorker> core_;
  bool synchronous_;
  bool replayable_;
  Step begun_ = 0;  // in a job that is not replayable: the newest contribution that was asked for; 0: none
  Rank rank_;
  std::uint32_t level_;  // see `WorkerOptions`
  std::uint32_t process_;  // see `JoinRequest`
  std::string job_text_;
  std::string job_hash_;
  std::string arithmetic_;
  CutSettings cuts_;
  WorkerShell& shell_;
  std::vector<Link> links_;
  std::vector<std::size_t> block_bytes_;  // for each shard: bytes of the block as it is sent
  Step saved_ = 0;
  Step counted_ = 0;
  std::map<Step, std::uint64_t> named_;  // steps that are exported, with the numbers of their exports
  std::uint64_t exports_named_ = 0;
  Step newest_pushed_ = 0;
  Instant next_export_{};  // when the next step is named
  bool over_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/worker/impl/worker_node.ipp>
#endif
