// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/ps/job/phase.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/worker/worker_client_options.hpp>

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a worker of a cluster calls: the functions that do its work, and the functions that receive its reports. All
/// but `measured` must be set. All are called on the owner's thread, inside `ClusterJob::next()` and `make()`,
/// and an exception from one ends the job.
struct ClusterJobCallbacks {
  /// Computes the contribution of `step`: reads one block of values per shard, writes one block of gradients per shard,
  /// returns the loss.
  std::function<float(Step step, std::span<const SharedBuffer> values,
                      std::span<const std::shared_ptr<AlignedBuffer>> gradients)>
      contribute;
  /// Prepares the contribution of `step` while its values are on their way. In a job with tables, returns the rows that
  /// the contribution needs, one request per shard; otherwise an empty list. Also called for steps after this worker's
  /// last one: then for the rows that are wanted with the final values, or an empty list.
  std::function<std::vector<WantedRows>(Step step)> prepare;
  /// False: the records of `step` are not there yet; neither `contribute` nor `prepare` is called before it returns true.
  /// Asked again and again, so it must look for new records only now and then. Empty: always true.
  std::function<bool(Step step)> ready = {};
  /// Training starts, or continues, after step `first`. Called at most once: before the first contribution; or, if an
  /// earlier run has done all steps, when the final values have arrived (`WorkerOptions::wants_result`).
  std::function<void(Step first)> started;
  /// The steps up to `step` are done. `values` are the values after it (asynchronous: perhaps later ones), `loss` is
  /// the loss of a contribution of this worker.
  std::function<void(Step step, float loss, const std::vector<SharedBuffer>& values)> step_done;
  /// Every shard has a durable cut of `step`. Not called for every such step: a newer cut may be reported instead. Not
  /// called before `started`.
  std::function<void(Step step)> saved;
  /// Receives every other event, such as a lost connection.
  std::function<void(const Event& event)> told;
  /// Receives what this rank does, when it has done it. May be empty: then nothing is measured.
  PhaseObserver measured = {};
};

/// One worker of a cluster. A thread of its own does the I/O with the parameter servers; contributions are computed on
/// the thread of the owner, which runs the job by `while (job.next()) job.make();`.
///
/// Threads: one at a time, the owner's; `next()` blocks it.
class ClusterJob {
 public:
  virtual ~ClusterJob() = default;

  /// Handles events until a contribution is to be made: returns true, also at every further call until `make` or
  /// `abandon`. Returns false when this worker's part is over. Throws what a callback threw.
  [[nodiscard]] virtual auto next() -> bool = 0;

  /// Makes the contribution that `next` has announced, and sends it. Throws what a callback threw.
  virtual void make() = 0;

  /// Leaves the job without the contribution that `next` has announced.
  virtual void abandon() = 0;

  /// Returns how the worker ended: see `WorkerEnd`. To be called once, when `next` has returned false.
  [[nodiscard]] virtual auto end() -> WorkerEnd = 0;

  /// Returns the context in which callbacks run: use it for timers and signals of the owner.
  [[nodiscard]] virtual auto context() noexcept -> asio::io_context& = 0;

  /// Finishes what is in flight, then leaves the job.
  virtual void stop() = 0;
};

}  // namespace v0
}  // namespace distrib
