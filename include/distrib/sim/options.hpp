// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/erased_keys.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/sim/dice.hpp>
#include <distrib/sim/faults.hpp>
#include <distrib/sim/network_options.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace sim {

/// Options of a simulated run. The same options and the same trainer make the same run, event by event.
struct Options {
  std::uint64_t seed = 0;     ///< Seed of the run. The seed of the job is the trainer's.
  std::uint32_t ps = 2;       ///< Number of parameter servers, at least 1; each has `LocalMode::shards` shards.
  std::uint32_t workers = 0;  ///< Number of workers; 0: `LocalMode::workers`.
  std::optional<Faults> faults = std::nullopt;           ///< Empty: drawn from the seed.
  std::optional<NetworkOptions> network = std::nullopt;  ///< Empty: drawn from the seed.
  /// Steps between two cuts; asynchronous: contributions. 0: with `SaveCheckpoint` as in a cluster, a divisor of its
  /// `every_steps`; without it drawn from the seed.
  std::uint64_t cut_interval = 0;
  /// An existing directory, in which the disk's directory `sim-SEED` is created and at the end removed. Empty: there is
  /// no disk; cuts are kept in memory, and survive each death of a process. See `Faults` for what is left out then.
  std::string directory = {};
  std::size_t replay_budget_bytes = std::size_t{1} << 20;  ///< See `ClusterMode::replay_budget_bytes`.
  /// How long a worker may be without a connection to a parameter server before that counts it as lost permanently, in
  /// simulated time: `ClusterMode::lease` and `restart_window`. Choose it short if such workers are to be noticed before
  /// the end of a short job (`Faults::losses`), but longer than a worker is away that is started again.
  std::chrono::milliseconds lost_after{660'000};
  std::uint64_t most_events = 4'000'000;  ///< A run with more events fails: it would probably never end.
  /// Receives a line for each thing that happens: "TIME PROCESS TEXT", without a line end. TIME is the simulated time
  /// since the start of the run, in ms. Called on the thread of `run`. Empty: there is no trace.
  std::function<void(std::string_view line)> trace = {};
};

namespace detail {

/// Draws a network: slow or fast, whole frames or byte by byte.
[[nodiscard]] DISTRIB_DECL auto drawn_network(Dice& dice) -> NetworkOptions;

}  // namespace detail

/// The result of a simulated run.
struct Outcome {
  /// Empty: the job came to its end. Otherwise what went wrong, with the seed that finds it again.
  std::string wrong;
  std::string parameters_sha256;  ///< Compare it with `TrainingResult::parameters_sha256`; empty if something is wrong.
  Step steps = 0;  ///< Last step of the job; 0 if something is wrong.
  /// Contributions in the final values of a shard. If each contribution counts once, this is `steps` times the number
  /// of workers; with backup workers, `steps` times `replicas_to_aggregate`; asynchronous: `steps`.
  std::uint64_t contributions = 0;
  std::uint64_t computed = 0;  ///< Contributions that were computed, including those that were computed again.
  /// For a synchronous job that was started again with other settings: the step after which these hold. Empty if the
  /// job is asynchronous, if something is wrong, or if they never held: the job was done before that moment, or one of
  /// its processes had ended or could not be ended then.
  std::optional<Step> changed_after;
  /// In a job with `Job::most_ranks`: the entries that are durable at some shard, and so in force. Otherwise null.
  SharedRankLog ranks = nullptr;
  std::vector<ErasedKeys> erased = {};  ///< In a job with `Job::erases_keys`: what is durable at some shard.
  unsigned deaths = 0;  ///< Processes that were killed, not counting a start of the job with other settings.
  unsigned resets = 0;  ///< Connections that a fault broke, made half open or stalled; not those of killed processes.
  unsigned refused_cuts = 0;  ///< Damaged cuts that were skipped.
  std::uint64_t events = 0;  ///< Events of the simulation.
  double seconds = 0;  ///< Simulated time.
};

}  // namespace sim
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sim/impl/options.ipp>
#endif
