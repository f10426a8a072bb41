// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/asio.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/worker_action.hpp>
#include <distrib/ps/worker/worker_client_options.hpp>

#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What one worker of a cluster does and hears, all on the thread of `ClusterJob::run()`.
struct ClusterJobCallbacks {
  /// Makes the contribution: reads one block of values a shard, writes one block of gradients a shard, gives the loss.
  std::function<float(Step step, std::span<const SharedBuffer> values,
                      std::span<const std::shared_ptr<AlignedBuffer>> gradients)>
      contribute;
  /// Gets ready for the contribution of `step` while values are on their way; of jobs with tables it says which rows
  /// that needs, one a shard.
  std::function<std::vector<WantedRows>(Step step)> prepare;
  /// Training goes on after `first`: once, before the first contribution.
  std::function<void(Step first)> started;
  /// Steps through `step` are done; `values` are those after it (asynchronous: or a little later), `loss` the worker's own.
  std::function<void(Step step, float loss, const std::vector<SharedBuffer>& values)> step_done;
  /// Every shard has a durable cut of `step`. Not every one is told: a newer one says more.
  std::function<void(Step step)> saved;
  std::function<void(const Event& event)> told;
};

/// One worker of a cluster: an I/O thread of its own speaks to the parameter servers, while contributions are made on
/// the thread of `run()`.
///
/// Threads: one at a time; `run()` blocks its thread.
class ClusterJob {
 public:
  virtual ~ClusterJob() = default;

  /// Trains until the worker's part is over. Throws what a callback threw.
  [[nodiscard]] virtual auto run() -> WorkerEnd = 0;

  /// Where callbacks run: signals of the owner belong here.
  [[nodiscard]] virtual auto context() noexcept -> asio::io_context& = 0;

  /// Finish what is in flight, then leave. On the thread of `run()`.
  virtual void stop() = 0;
};

}  // namespace v0
}  // namespace distrib
