// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/net/asio.hpp>
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

/// Makes the contribution (step, rank): reads one block of values a shard, writes one block of gradients a shard,
/// returns the loss. Called from several threads at once, for different ranks.
using Contribute = std::function<float(Rank rank, Step step, std::span<const SharedBuffer> values,
                                       std::span<const std::shared_ptr<AlignedBuffer>> gradients)>;

/// What a local job tells while it runs, on the thread of `run()`.
struct LocalJobCallbacks {
  /// Of jobs with tables: which rows the contribution (step, rank) needs, one a shard. Called where contributions are
  /// made, not at the same time as one of the same rank.
  std::function<std::vector<WantedRows>(Rank rank, Step step)> prepare = {};
  std::function<void(Step step, float loss)> step_done;
  /// A cut of every shard at one step. Make it durable, then call `LocalJob::cut_saved(step)` on the same thread, not
  /// from within this call.
  std::function<void(Step step, std::vector<Cut> cuts)> cut_due;
};

/// Local mode: the cores of all shards and workers of a job in one process, their messages carried by hand on the
/// thread of `run()`; contributions are made on the threads of a pool, or on that same thread without one.
///
/// Threads: one at a time; `run()` blocks its thread.
class LocalJob {
 public:
  virtual ~LocalJob() = default;

  /// Trains until every worker is done, or until the work in flight at `stop()` is done and saved. Throws what
  /// `contribute` or a callback threw, when all threads have left the job.
  virtual void run() = 0;

  /// Where callbacks run: timers and signals of the owner belong here.
  [[nodiscard]] virtual auto context() noexcept -> asio::io_context& = 0;

  /// Runs `work` on the pool (here without one) and then `done` on the thread of `run()`; both may throw, which ends the
  /// job. The job does not end before.
  virtual void in_background(std::function<void()> work, std::function<void()> done) = 0;

  /// The cuts of `step` are durable.
  virtual void cut_saved(Step step) = 0;

  /// Finish the work in flight, save, and return from `run()`. On the thread of `run()`. `tell`, which may be empty, is
  /// called first; what it throws ends the job.
  virtual void stop(const std::function<void()>& tell) = 0;

  /// Steps done, and the values after them, one block a shard; with these rows, if one request a shard is given.
  [[nodiscard]] virtual auto step() const -> Step = 0;
  [[nodiscard]] virtual auto values(std::span<const PullRows> rows) -> std::vector<SharedBuffer> = 0;
};

}  // namespace v0
}  // namespace distrib
