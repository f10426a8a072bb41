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

/// A job that is started: how its shards are made, and what its workers compute with.
struct StartedJob {
  Job job;
  ShardKinds kinds;
  StartProgram program;
};

/// A whole cluster in simulated time: the services and nodes of production over the connection cores of production, the
/// cuts of production on a simulated disk, and all that can go wrong. One `run()`. What a Program throws comes out of it.
/// Threads: one at a time.
class Cluster {
 public:
  /// Of `cuts` the directory is the simulation's own. Throws when it cannot be made. `make_shard`: another one gives
  /// shards cores that have a mistake.
  DISTRIB_DECL Cluster(StartedJob job, const CutSettings& cuts, const Options& options,
                       MakeShard make_shard = detail::make_shard<ShardCores>);

  /// At some moment of the run all processes end, and this job is started, of as many shards and ranks. Before `run`.
  DISTRIB_DECL void change_to(StartedJob job);

  /// Runs to the end: every worker was done once, and every parameter server; where a shard refused what is not finite,
  /// the workers only.
  DISTRIB_DECL auto run() -> Outcome;

  /// With what workers ended to whom a shard refused something that is not finite.
  [[nodiscard]] auto refusals() const noexcept -> const std::vector<std::string>& { return world_.refusals; }

 private:
  struct RankState {
    std::vector<std::shared_ptr<WorkerProcess>> processes;  // the last is the one that is not a zombie
    unsigned started = 0;
    bool done = false;
  };

  // --- processes ---

  DISTRIB_DECL void start_later(Rank rank, std::chrono::microseconds pause);
  DISTRIB_DECL void start(Rank rank);
  DISTRIB_DECL void kill_worker();
  DISTRIB_DECL void double_worker();
  DISTRIB_DECL void kill_ps(std::uint32_t task);
  DISTRIB_DECL void lose_power();
  DISTRIB_DECL void change(const StartedJob& job);

  // --- faults ---

  DISTRIB_DECL void draw_faults();

  DISTRIB_DECL auto some_time(std::uint64_t most_ms) -> std::chrono::microseconds;
  [[nodiscard]] DISTRIB_DECL auto most_contributions() const -> std::uint64_t;

  DISTRIB_DECL void contributed();
  // Whatever is due after so many contributions happens at any moment until about the next one.
  DISTRIB_DECL void fall_due();

  template <class Lose> void lose_one(Lose lose, const char* how);

  // A few do not reach a few; what was on its way comes later, or not at all.
  DISTRIB_DECL void part();

  // --- the end ---

  DISTRIB_DECL auto is_over() -> bool;
  // Of a rank that is done the other processes have nothing more to say.
  DISTRIB_DECL static void end_zombies(RankState& of);

  // Each worker was told that the last step is durable, so its checkpoint is whole also when power is lost now.
  DISTRIB_DECL void look_for_the_last_checkpoint();

  // A synchronous job ends in one history: when the settings changed in it.
  DISTRIB_DECL auto changed_after() -> std::optional<Step>;

  // An asynchronous shard never goes back: what is not the same on all is wrong. A synchronous one may yet have been sent
  // back by a worker that came late, when its last cut was durable.
  DISTRIB_DECL auto count_contributions() -> std::uint64_t;

  // For people who look for the reason.
  [[nodiscard]] DISTRIB_DECL auto state() const -> std::string;

  StartProgram program_;
  World world_;
  std::vector<std::unique_ptr<PsProcess>> tasks_;
  std::vector<RankState> ranks_;
  std::multimap<std::uint64_t, std::function<void()>> due_;  // after so many contributions
  std::uint64_t contributed_ = 0;
  unsigned flips_ = 0;
  unsigned changes_ = 0;  // so often was everything started again
};

}  // namespace sim::detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sim/detail/impl/cluster.ipp>
#endif
