// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/event.hpp>
#include <distrib/net/address.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/phase.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/worker/worker_client_options.hpp>
#include <distrib/train/job/cluster_job.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// As `ClusterJobCallbacks`, for a process that serves several ranks. `step_done` is called once for each step, with
/// the loss of the lowest rank that this process serves. Asynchronous: for what the parameter servers have counted, of
/// all ranks, with the loss of the last contribution of this process.
struct RanksJobCallbacks {
  /// Computes the contribution (step, rank), see `ClusterJobCallbacks::contribute`.
  std::function<float(Rank rank, Step step, std::span<const SharedBuffer> values,
                      std::span<const std::shared_ptr<AlignedBuffer>> gradients)>
      contribute;
  /// Reads the input of (step, rank) while there is nothing else to do.
  std::function<void(Rank rank, Step step)> prepare;
  /// In a job whose ranks change: says which ranks make `step`, and the number of the contribution (step, rank)
  /// (`Compute::number`). Called before `contribute`.
  std::function<void(Rank rank, Step step, const RankEntry& entry, std::uint64_t number)> numbered;
  std::function<void(Step first)> started;
  std::function<void(Step step, float loss, const std::vector<SharedBuffer>& values)> step_done;
  std::function<void(Step step)> saved;
  std::function<void(const Event& event)> told;
  PhaseObserver measured = {};
  std::function<void(std::size_t ranks)> serves = {};  ///< The process serves so many ranks now. Empty: not told.
};

/// Which process serves the ranks.
struct ServingProcess {
  std::uint32_t index = 0;  ///< Among the workers of the cluster.
  bool is_chief = false;  ///< It serves rank 0 from the start, and gets the values at the end.
  /// It groups its ranks into aligned blocks, and pushes the sum of each. False, or in a job whose ranks change: each
  /// rank pushes its own contribution.
  bool sums_ranks = true;
};

/// Makes one process of a job whose ranks are dealt (`RankDealer`), and connects it at the first `next()`. It has a
/// `WorkerClient` for each block of ranks that it serves (`ServedRanks`), all on one thread; contributions are computed,
/// and summed, one after another on the owner's thread. The job has no tables, and adds in a tree; or it is asynchronous,
/// and its ranks change. In a job whose ranks change, each step has the ranks of its entry; a rank of none looks on.
/// `options.worker.replay_budget_bytes` is for each rank.
///
/// Errors: throws as the constructor of `WorkerClient`.
[[nodiscard]] DISTRIB_DECL auto make_ranks_job(const Job& job, ServingProcess process, std::vector<Address> servers,
                                               WorkerClientOptions options, CutSettings cuts,
                                               RanksJobCallbacks callbacks) -> std::unique_ptr<ClusterJob>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/job/impl/make_ranks_job.ipp>
#endif
