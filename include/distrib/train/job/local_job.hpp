// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/ps/job/phase.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/pull_rows.hpp>

#include <cstdint>
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

/// What a local job calls while it runs. On the owner's thread, except `prepare`.
struct LocalJobCallbacks {
  /// For jobs with tables only: returns the rows that the contribution (step, rank) needs, one request per shard.
  /// Called on the threads that compute contributions, never for one rank on two threads at once. Empty: the job has no
  /// tables.
  std::function<std::vector<WantedRows>(Rank rank, Step step)> prepare = {};
  /// False: the records of contribution (step, rank) are not there yet; neither `Contribute` nor `prepare` is called
  /// before it returns true. Asked again and again, so it must look for new records only now and then. Called on
  /// the owner's thread. Empty: always true.
  std::function<bool(Rank rank, Step step)> ready = {};
  /// As `RanksJobCallbacks::numbered`, on the owner's thread. Needed in a job whose ranks change.
  std::function<void(Rank rank, Step step, const RankEntry& entry, std::uint64_t number)> numbered = {};
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

/// Where a local job computes contributions.
enum class ComputeOn : std::uint8_t {
  pool,  ///< On the threads of the pool; without a pool on the owner's thread.
  caller,  ///< On the owner's thread, in `LocalJob::make`. The pool is for work in the background.
};

/// Local mode: the cores of all shards and workers of a job in one process. Their messages are delivered on the thread
/// of the owner, which runs the job by `while (job.next()) job.make();`.
///
/// Threads: one at a time, the owner's; `next()` blocks it.
class LocalJob {
 public:
  virtual ~LocalJob() = default;

  /// Delivers messages until a contribution must be computed on this thread: returns true, also at every further call
  /// until `make` or `abandon`. Returns false when every worker is done, or, after `stop()`, when the work in flight is
  /// done and saved. Throws what `Contribute` or a callback threw, and `std::system_error` if a shard refuses a
  /// contribution (`ps_errc::not_finite`) or a request for rows; always after all threads have left the job.
  [[nodiscard]] virtual auto next() -> bool = 0;

  /// Computes the contribution that `next` has announced. With several ranks these take turns. Throws as `next`.
  virtual void make() = 0;

  /// After `stop()`: the contributions that `next` has announced will not be made.
  virtual void abandon() = 0;

  /// Returns the context in which callbacks run, inside `next()` and `make()`: use it for timers and signals of the
  /// owner.
  [[nodiscard]] virtual auto context() noexcept -> asio::io_context& = 0;

  /// Runs `work` on the pool (without one: on the owner's thread), then `done` on the owner's thread. The job
  /// does not end before both are over. An exception from either ends the job. `done` is not called after an exception
  /// from `work`, or if the job has failed meanwhile.
  virtual void in_background(std::function<void()> work, std::function<void()> done) = 0;

  /// Reports that the cuts of `step` are durable.
  virtual void cut_saved(Step step) = 0;

  /// Makes a cut of the present step, unless there is one: `LocalJobCallbacks::cut_due` follows. May be called in a
  /// callback.
  virtual void save() = 0;

  /// Finishes the work in flight and saves; then `next()` returns false. Calls `tell` first, unless it is empty; an
  /// exception from it ends the job. A second call does nothing, and does not call its `tell`.
  virtual void stop(const std::function<void()>& tell) = 0;

  /// Returns how many steps are done, including the steps before the cuts that the job continues from.
  [[nodiscard]] virtual auto step() const -> Step = 0;
  /// Returns the values after `step()`, one block per shard. `rows`: which rows of the tables the blocks contain, one
  /// request per shard; empty: no rows.
  [[nodiscard]] virtual auto values(std::span<const PullRows> rows) -> std::vector<SharedBuffer> = 0;
  /// Returns what `values` returns, with the moving averages in place of the values: see `ShardStore::averages`.
  [[nodiscard]] virtual auto averages(std::span<const PullRows> rows) -> std::vector<SharedBuffer> = 0;
};

}  // namespace v0
}  // namespace distrib
