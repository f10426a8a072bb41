// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
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

/// What a worker's node tells its shell; none of these may call the node back from inside.
class WorkerShell {
 public:
  virtual ~WorkerShell() = default;
  virtual void prepare(Prepare work) = 0;      ///< Then `prepared`, on the node's thread.
  virtual void compute(Compute work) = 0;      ///< Then `computed`, on the node's thread.
  virtual void sent(std::uint32_t shard) = 0;  ///< Calls wait in the shard's ClientCore: have them written.
  virtual void moved(Step counted) = 0;  ///< Values came that so many steps made (asynchronous: contributions).
  virtual void saved(Step step) = 0;  ///< Every shard has a cut of this step: it is durable. Synchronous only.
  virtual void not_repeatable(Step step) = 0;  ///< A shard had this contribution before, with other bytes; those count.
  virtual void done(WorkerDone end) = 0;  ///< Each connection ends when its shard has heard so.
  virtual void failed(const Error& why) = 0;  ///< The job cannot go on: a shard refused it, or a rank is lost.
};

/// One worker over rpc: carries what its core tells to the shards as calls of `ps/wire/messages.hpp`, one connection a
/// shard, or with replicas one a replica, by their numbers, and their answers back to the core. What cannot be sent
/// because a connection is down is dropped: after it is there again the core joins, and says everything anew.
///
/// Events in, actions out by calls of the shell; no clock, no I/O, no thread. Threads: one at a time.
class WorkerNode {
 public:
  DISTRIB_DECL WorkerNode(const Job& job, Rank rank, const WorkerOptions& options, CutSettings cuts,
                          WorkerShell& shell);
  WorkerNode(const WorkerNode&) = delete;
  auto operator=(const WorkerNode&) -> WorkerNode& = delete;

  /// There is a connection to the shard; `link` must live until `disconnected`.
  DISTRIB_DECL void connected(std::uint32_t shard, ClientCore& link, Instant now);

  /// It is lost, and so is what was on its way.
  DISTRIB_DECL void disconnected(std::uint32_t shard, Instant now);

  [[nodiscard]] auto is_connected(std::uint32_t shard) const -> bool { return links_[shard].core != nullptr; }

  /// What `ClientCore::next` of the shard's connection gave.
  DISTRIB_DECL void happened(std::uint32_t shard, const ClientEvent& event, Instant now);

  /// The rows that `prepare` asked for, one a shard.
  DISTRIB_DECL void prepared(Step step, std::vector<WantedRows> rows, Instant now);

  /// The contribution that `compute` asked for, one block a shard; with tables also the rows that the next one needs.
  DISTRIB_DECL void computed(std::uint64_t ticket, std::vector<SharedBuffer> blocks, Instant now,
                             std::vector<WantedRows> next = {});

  /// Finish what is in flight, then leave: the job goes on another time.
  DISTRIB_DECL void stop(Instant now);

  /// Whether it is done or has failed: nothing is told any more.
  [[nodiscard]] auto over() const noexcept -> bool { return over_; }
  [[nodiscard]] auto step() const noexcept -> Step { return core_->step(); }

  /// Whether nothing of this rank is left to be saved: shards may go home without another word.
  [[nodiscard]] auto everything_saved() const -> bool { return core_->everything_saved(); }

 private:
  struct Letter {
    std::uint32_t method;
    Step step;
    std::size_t answer_bytes;  // of a pull: the values that come
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
    std::deque<Letter> waiting;  // until fewer calls are in flight: a replay may be long
    std::map<std::uint64_t, CallState> calls;
    std::uint64_t stream = 0;  // the call of Join; 0: none
    bool text_sent = false;
  };

  class Out;

  template <class Event> void run(Instant now, Event&& event);
  DISTRIB_DECL void tell_saved();
  DISTRIB_DECL void send_join(std::uint32_t shard, Instant now);

  template <detail::RpcMethod M>
  void send(std::uint32_t shard, const typename M::Request& request, Step step, Instant now,
            std::size_t answer_bytes = 0);

  DISTRIB_DECL void pump(std::uint32_t shard, Instant now);
  DISTRIB_DECL void joined(std::uint32_t shard, const ClientEvent& event, Instant now);

  // Where shards may be sent back, one that says where it is is asked anew. What it was asked before, and may not answer
  // for long, would come to too many calls when somebody sends it back again and again.
  DISTRIB_DECL static void take_back_pulls(Link& link);
  DISTRIB_DECL void pulled(std::uint32_t shard, const CallState& call, const ClientEvent& event, Instant now);
  DISTRIB_DECL void pushed(std::uint32_t shard, Step step, const ClientEvent& event, Instant now);

  // What the connection or its limits did is mended by joining anew; what the shard's job says is final.
  DISTRIB_DECL void call_failed(std::uint32_t shard, const ClientEvent& event, Instant now);

  // Nothing but the answer to the last word is waited for; then the connection ends.
  DISTRIB_DECL void hang_up(std::uint32_t shard, Instant now);
  DISTRIB_DECL void end_call(std::uint32_t shard, std::uint64_t call, Instant now);
  DISTRIB_DECL void bad_message(std::uint32_t shard, std::string_view method);
  DISTRIB_DECL void fail(const Error& error);

  static constexpr std::size_t most_calls = 256;  // on one connection

  std::unique_ptr<AnyWorker> core_;
  bool synchronous_;
  Rank rank_;
  std::string job_text_;
  std::string job_hash_;
  CutSettings cuts_;
  WorkerShell& shell_;
  std::vector<Link> links_;
  std::vector<std::size_t> block_bytes_;  // of each shard, as they travel
  Step saved_ = 0;
  bool over_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/worker/impl/worker_node.ipp>
#endif
