// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/protocol/worker_action.hpp>

#include <cstddef>
#include <cstdint>
#include <memory>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Receives the actions of a worker's core, in the order to be performed in. No member may call the core.
class WorkerSink {
 public:
  virtual ~WorkerSink() = default;
  virtual void operator()(SendJoin action) = 0;
  virtual void operator()(SendPull action) = 0;
  virtual void operator()(SendPush action) = 0;
  virtual void operator()(SendRestore action) = 0;     ///< Synchronous only.
  virtual void operator()(SendCatchUp action) = 0;     ///< Synchronous only.
  virtual void operator()(SendSave action) = 0;
  virtual void operator()(SendGoodbye action) = 0;
  virtual void operator()(SendLeave action) = 0;
  virtual void operator()(Prepare action) = 0;
  virtual void operator()(Compute action) = 0;
  virtual void operator()(ReplicasDiffer action) = 0;  ///< Synchronous only.
  virtual void operator()(TellsNoHistory action) = 0;  ///< Synchronous only.
  virtual void operator()(WorkerDone action) = 0;
};

/// The core of a worker behind one type, for both kinds of consistency: for a shell, which learns the consistency only
/// when it runs. Has the members of `SyncWorkerCore` and `AsyncWorkerCore`, with the same meaning.
class AnyWorker {
 public:
  virtual ~AnyWorker() = default;
  virtual void start(WorkerSink& out) = 0;
  virtual void reconnected(std::uint32_t replica, WorkerSink& out) = 0;
  virtual void disconnected(std::uint32_t replica, WorkerSink& out) = 0;  ///< Asynchronous: does nothing.
  virtual void joined(std::uint32_t replica, Progress progress, WorkerSink& out) = 0;
  virtual void notice(std::uint32_t replica, Progress progress, WorkerSink& out) = 0;
  virtual void pushed(std::uint32_t replica, Progress progress, WorkerSink& out) = 0;
  virtual void values(std::uint32_t replica, Step step, SharedBuffer block, Progress progress, WorkerSink& out) = 0;
  virtual void gone(std::uint32_t replica, Step step, Progress progress,
                    WorkerSink& out) = 0;  ///< Asynchronous: does nothing.
  virtual void prepared(Step step, std::vector<WantedRows> rows, WorkerSink& out) = 0;
  virtual void computed(std::uint64_t ticket, std::vector<SharedBuffer> blocks, WorkerSink& out,
                        std::vector<WantedRows> next) = 0;
  virtual void stop(WorkerSink& out) = 0;
  virtual void abandon(WorkerSink& out) = 0;
  virtual void want(WorkerSink& out) = 0;    ///< Asynchronous only.
  virtual void finish(WorkerSink& out) = 0;  ///< Asynchronous only.

  [[nodiscard]] virtual auto step() const -> Step = 0;
  [[nodiscard]] virtual auto common_cut() const -> Step = 0;  ///< Asynchronous: 0, there is no common cut.
  [[nodiscard]] virtual auto replay_bytes() const -> std::size_t = 0;
  [[nodiscard]] virtual auto everything_saved() const -> bool = 0;
  [[nodiscard]] virtual auto counted() const -> Step = 0;  ///< Synchronous: 0, it is not asked for.
  [[nodiscard]] virtual auto awaits(std::uint32_t shard) const -> bool = 0;  ///< Synchronous: false.
};

/// Makes the worker of `rank`, of the kind that the consistency of the job needs.
[[nodiscard]] DISTRIB_DECL auto make_worker(const Job& job, Rank rank, WorkerOptions options = {})
    -> std::unique_ptr<AnyWorker>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/impl/any_worker.ipp>
#endif
