// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/ps/job/phase.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/pull_rows.hpp>

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Computes the contribution (step, rank): reads one block of values per shard, writes one block of gradients per
/// shard, returns the loss. Called by several threads at once, for different ranks.
using Contribute = std::function<float(Rank rank, Step step, std::span<const SharedBuffer> values,
                                       std::span<const std::shared_ptr<AlignedBuffer>> gradients)>;

/// What a local job calls while it runs. On the thread of `run()`, except `prepare`.
struct LocalJobCallbacks {
  /// For jobs with tables only: returns the rows that the contribution (step, rank) needs, one request per shard.
  /// Called on the threads that compute contributions, never for one rank on two threads at once. Empty: the job has no
  /// tables.
  std::function<std::vector<WantedRows>(Rank rank, Step step)> prepare = {};
  /// A contribution is computed, from these values, one block per shard, and not sent yet. May be empty.
  std::function<void(Rank rank, Step step, float loss, std::span<const SharedBuffer> values)> contributed = {};
  /// A global step is done.
  std::function<void(Step step, float loss)> step_done;
  /// Receives what each rank does, when it has done it. May be empty: then nothing is measured.
  PhaseObserver measured = {};
  /// There is a cut of every shard at one step. Make the cuts durable, then call `LocalJob::cut_saved(step)` on the
  /// same thread, but not inside this call.
  std::function<void(Step step, std::vector<Cut> cuts)> cut_due;
};

/// Local mode: the cores of all shards and workers of a job in one process. Their messages are delivered on the thread
/// of `run()`; contributions are computed on the threads of a pool, or, without a pool, on the thread of `run()`.
///
/// Threads: one at a time; `run()` blocks its thread.
class LocalJob {
 public:
  virtual ~LocalJob() = default;

  /// Trains until every worker is done, or, after `stop()`, until the work in flight is done and saved. Throws what
  /// `Contribute` or a callback threw, and `std::system_error` if a shard refuses a contribution
  /// (`ps_errc::not_finite`) or a request for rows; always after all threads have left the job. Must be called only
  /// once.
  virtual void run() = 0;

  /// Returns the context in which callbacks run: use it for timers and signals of the owner.
  [[nodiscard]] virtual auto context() noexcept -> asio::io_context& = 0;

  /// Runs `work` on the pool (without one: on the thread of `run()`), then `done` on the thread of `run()`. The job
  /// does not end before both are over. An exception from either ends the job. `done` is not called after an exception
  /// from `work`, or if the job has failed meanwhile.
  virtual void in_background(std::function<void()> work, std::function<void()> done) = 0;

  /// Reports that the cuts of `step` are durable.
  virtual void cut_saved(Step step) = 0;

  /// Makes a cut of the present step, unless there is one: `LocalJobCallbacks::cut_due` follows. To be called on the
  /// thread of `run()`, also in a callback, or before `run()`.
  virtual void save() = 0;

  /// Finishes the work in flight, saves, and lets `run()` return. To be called on the thread of `run()`. Calls `tell`
  /// first, unless it is empty; an exception from it ends the job. A second call does nothing, and does not call its
  /// `tell`.
  virtual void stop(const std::function<void()>& tell) = 0;

  /// Returns how many steps are done, including the steps before the cuts that the job continues from.
  [[nodiscard]] virtual auto step() const -> Step = 0;
  /// Returns the values after `step()`, one block per shard. `rows`: which rows of the tables the blocks contain, one
  /// request per shard; empty: no rows.
  [[nodiscard]] virtual auto values(std::span<const PullRows> rows) -> std::vector<SharedBuffer> = 0;
};

}  // namespace v0
}  // namespace distrib
