// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/coordinator/parameter_job.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/runtime_variables.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/store/block_pool.hpp>
#include <distrib/ps/worker/worker_client.hpp>
#include <distrib/ps/worker/worker_client_options.hpp>
#include <distrib/tensor/runtime_values.hpp>

#include <atomic>
#include <condition_variable>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <mutex>
#include <optional>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Why a call of a `ParameterClient` did not succeed.
struct ParameterError {
  Error error = {};  ///< No error: it succeeded.
  std::vector<std::uint32_t> unreachable_ps = {};  ///< The parameter servers that did not answer in time, ascending.
};

/// The variables of a job for functions, which pull and push when they like: a `WorkerClient` on demand, whose I/O is
/// done on a thread of the pool, for callers on another thread, which wait.
///
/// Each wait ends at its deadline, or soon after `stopped` becomes true and `wake_up` is called.
///
/// Threads: `wake_up` any; all other members one at a time, but not a thread of the pool. `io` must outlive it, and be
/// stopped and joined before it is destroyed.
class ParameterClient : private WorkerOwner {
 public:
  /// Starts to connect. Throws as the constructor of `WorkerClient`, and `net_errc::bad_address`.
  DISTRIB_DECL ParameterClient(IoPool& io, ParameterJob job, Rank rank, WorkerClientOptions options);
  ParameterClient(const ParameterClient&) = delete;
  auto operator=(const ParameterClient&) -> ParameterClient& = delete;
  DISTRIB_DECL ~ParameterClient() override;

  /// Returns the variables of the job, in its order.
  [[nodiscard]] auto variables() const noexcept -> const RuntimeVariables& { return variables_; }

  /// Reads the newest values of all variables. They have all contributions that were counted before this call.
  [[nodiscard]] DISTRIB_DECL auto pull(RuntimeValues& to, Instant by, const std::atomic<bool>& stopped)
      -> ParameterError;
  /// Sends a contribution: `from` has a gradient for each variable, or the amount to add to a counter. Without a `pull`
  /// since the last push, pulls first.
  [[nodiscard]] DISTRIB_DECL auto push(const RuntimeGradients& from, Instant by, const std::atomic<bool>& stopped)
      -> ParameterError;
  /// Waits until all shards have counted every contribution.
  [[nodiscard]] DISTRIB_DECL auto settle(Instant by, const std::atomic<bool>& stopped) -> ParameterError;

  /// Waits until everything is saved and the parameter servers know that this rank is done. Nothing may follow.
  [[nodiscard]] DISTRIB_DECL auto finish(Instant by, const std::atomic<bool>& stopped) -> ParameterError;

  /// Lets the thread that waits look at `stopped`.
  void wake_up() {
    const std::scoped_lock lock{mutex_};
    changed_.notify_all();
  }

 private:
  // --- on the I/O thread ---

  void prepare(Prepare) override {}  // there are no tables
  DISTRIB_DECL void compute(Compute work, Step counted) override;
  void saved(Step) override {}  // synchronous jobs only
  DISTRIB_DECL void counted(Step step) override;
  DISTRIB_DECL void ended(WorkerEnd end) override;

  /// What the next push needs: its ticket, and memory for its gradients.
  struct Work {
    Compute compute;
    std::vector<std::shared_ptr<AlignedBuffer>> gradients;
  };

  DISTRIB_DECL auto want(Instant by, const std::atomic<bool>& stopped) -> ParameterError;
  DISTRIB_DECL auto take_work() -> std::optional<Work>;
  DISTRIB_DECL void give_back();
  /// Waits until `is_there` or the worker has ended; `mutex_` must not be locked.
  template <class Condition>
  auto wait(Instant by, const std::atomic<bool>& stopped, Condition is_there) -> ParameterError;
  template <class Event> void on_io(Event event);

  IoPool& io_;
  std::uint64_t seed_;
  Rank rank_;
  RuntimeVariables variables_;
  std::vector<ShardLayout> layouts_;
  std::vector<BlockPool> blocks_;  // for gradients, one per shard; used on the I/O thread
  std::shared_ptr<WorkerClient> client_;
  std::uint64_t asked_ = 0;  // the newest want that the client knows; used on the I/O thread
  std::mutex mutex_;
  std::condition_variable changed_;
  // guarded by mutex_:
  std::uint64_t got_ = 0;  // the want that `work_` came for
  std::optional<Work> work_;
  Step counted_ = 0;
  std::optional<WorkerEnd> end_;
  // of the caller's thread:
  std::uint64_t wanted_ = 0;  // how often values were wanted
  Step pushed_ = 0;  // the newest contribution
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/coordinator/impl/parameter_client.ipp>
#endif
