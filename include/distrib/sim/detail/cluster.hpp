// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/cut/finished_job.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/sim/detail/hosted_shard.hpp>
#include <distrib/sim/detail/link.hpp>
#include <distrib/sim/detail/program.hpp>
#include <distrib/sim/detail/ps_process.hpp>
#include <distrib/sim/detail/shard_host.hpp>
#include <distrib/sim/detail/worker_process.hpp>
#include <distrib/sim/detail/world.hpp>
#include <distrib/sim/options.hpp>

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace sim::detail {

/// A job to be started: how its shards are made, and the program of its workers.
struct StartedJob {
  Job job;
  ShardKinds kinds;
  StartProgram program;
};

/// A whole cluster in simulated time: the services, worker nodes and connection cores of production, whose cuts are on
/// a simulated disk, and everything that can go wrong there. An exception from a Program leaves `run()`.
///
/// Threads: one at a time.
class Cluster {
 public:
  /// `cuts`: its directory is replaced by that of the simulation. `make_shard`: makes the hosts of the shards; a test
  /// can pass another function to plant a mistake in their cores. Throws if the directory of the simulated disk cannot
  /// be created.
  DISTRIB_DECL Cluster(StartedJob job, const CutSettings& cuts, const Options& options,
                       MakeShard make_shard = detail::make_shard<ShardCores>);

  /// Makes all processes end at a random moment of the run, and then starts this job. It must have the same numbers of
  /// shards and ranks. Nothing changes if a process is done at that moment, or fragile (`ShardHost::is_fragile`). To be
  /// called before `run`.
  DISTRIB_DECL void change_to(StartedJob job);

  /// Runs to the end of the job: until a process of each rank was done, and each parameter server is done; or until
  /// something is wrong. If a shard has refused a value that is not finite, it waits for the workers only. Must be
  /// called only once.
  DISTRIB_DECL auto run() -> Outcome;

  /// Returns what all processes share: for tests that have processes of their own in it.
  [[nodiscard]] auto world() noexcept -> World& { return world_; }

  /// Returns the error text of each worker that ended with `ps_errc::not_finite`.
  [[nodiscard]] auto refusals() const noexcept -> const std::vector<std::string>& { return world_.refusals; }

 private:
  struct RankState {
    std::vector<std::shared_ptr<WorkerProcess>> processes;  // all but the last are zombies
    unsigned started = 0;
    bool done = false;
  };

  // --- processes ---

  DISTRIB_DECL void start_later(Rank rank, std::chrono::microseconds pause);
  DISTRIB_DECL void start(Rank rank);
  DISTRIB_DECL void kill_worker();
  DISTRIB_DECL void double_worker();
  DISTRIB_DECL void lose_worker();
  DISTRIB_DECL void kill_ps(std::uint32_t task);
  DISTRIB_DECL void lose_power();
  // An operator asks for other ranks.
  DISTRIB_DECL void scale();
  DISTRIB_DECL void erase();
  DISTRIB_DECL void change(const StartedJob& job);

  // --- faults ---

  DISTRIB_DECL void draw_faults();

  DISTRIB_DECL auto some_time(std::uint64_t most_ms) -> std::chrono::microseconds;
  [[nodiscard]] DISTRIB_DECL auto most_contributions() const -> std::uint64_t;

  DISTRIB_DECL void contributed();
  // Lets everything happen that is due after the current number of contributions: each at a random moment soon, at the
  // latest about when the next contribution is made.
  DISTRIB_DECL void fall_due();

  template <class Lose> void lose_one(Lose lose, const char* how);

  // Cuts some workers off from some parameter servers for a time. What is on its way arrives later, or is lost.
  DISTRIB_DECL void part();

  // --- the end ---

  DISTRIB_DECL auto is_over() -> bool;
  [[nodiscard]] DISTRIB_DECL auto one_task_is_done() const -> bool;
  // Starts processes again whose ranks have retired: they may be wanted later.
  DISTRIB_DECL void replace_retired(Rank rank);
  // Ends the other processes of a rank that is done.
  DISTRIB_DECL static void end_zombies(RankState& of);

  // Fails the run if the checkpoint of the last step is not complete after a loss of power. Each worker was told that
  // it is durable.
  DISTRIB_DECL void look_for_the_last_checkpoint();

  // Returns the step after which the changed settings hold, for a synchronous job. Fails the run if shards have ended
  // in different histories.
  DISTRIB_DECL auto changed_after() -> std::optional<Step>;

  // Returns the highest number of contributions in the values of a shard. For an asynchronous job, whose shards never
  // go back, fails the run if the shards' numbers differ. In a synchronous job they may: after its last cut was
  // durable, a shard may have been sent back by a worker that came late.
  DISTRIB_DECL auto count_contributions() -> std::uint64_t;

  // Returns a description of all processes, for the text of a failure.
  [[nodiscard]] DISTRIB_DECL auto state() const -> std::string;

  StartProgram program_;
  World world_;
  std::vector<std::unique_ptr<PsProcess>> tasks_;
  std::vector<RankState> ranks_;
  std::multimap<std::uint64_t, std::function<void()>> due_;  // by the number of contributions after which it is due
  std::uint64_t contributed_ = 0;
  unsigned flips_ = 0;
  std::uint64_t newest_entry_ = 0;
  unsigned changes_ = 0;  // how often the whole job was started again
};

}  // namespace sim::detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sim/detail/impl/cluster.ipp>
#endif
