// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/sim/dice.hpp>
#include <distrib/sim/faults.hpp>
#include <distrib/sim/network_options.hpp>

#include <cstddef>
#include <cstdint>
#include <functional>
#include <optional>
#include <string>
#include <string_view>

namespace distrib {
inline namespace v0 {
namespace sim {

/// How a simulated run is. The same options and the same trainer give the same run, event by event.
struct Options {
  std::uint64_t seed = 0;          ///< Of the run; that of the job is the trainer's.
  std::uint32_t ps = 2;            ///< Parameter servers, each with as many shards as `LocalMode::shards` says.
  std::uint32_t workers = 0;       ///< 0: as many as `LocalMode::workers` says.
  std::optional<Faults> faults = std::nullopt;           ///< Empty: drawn from the seed.
  std::optional<NetworkOptions> network = std::nullopt;  ///< Empty: drawn from the seed.
  /// Steps between two cuts; asynchronous: contributions. 0: drawn from the seed; `SaveCheckpoint::every_steps` is a
  /// multiple of it.
  std::uint64_t cut_interval = 0;
  /// Where a directory `sim-SEED` is made for the disk, and removed at the end. Empty: cuts are kept in memory and
  /// survive each death, and nothing happens to disks.
  std::string directory = {};
  std::size_t replay_budget_bytes = std::size_t{1} << 20;  ///< See `ClusterMode::replay_budget_bytes`.
  std::uint64_t most_events = 4'000'000;  ///< A run that takes more goes round in circles.
  /// Told what happens, a line each: "TIME WHO WHAT", the time in simulated milliseconds. Not its end of line.
  std::function<void(std::string_view line)> trace = {};
};

namespace detail {

/// The network that a seed stands for: slow or fast, whole frames or byte by byte.
[[nodiscard]] DISTRIB_DECL auto drawn_network(Dice& dice) -> NetworkOptions;

}  // namespace detail

/// What a simulated run came to.
struct Outcome {
  /// Empty: the job came to its end. Else what was found, and the seed that finds it again.
  std::string wrong;
  std::string parameters_sha256;  ///< As in `TrainingResult`, to be compared with it; empty when something is wrong.
  Step steps = 0;                 ///< Of the job: its last step, when nothing is wrong.
  /// What the values of every shard are made of, ranks counted one by one: with what counts once, `steps` times the
  /// workers; asynchronous: `steps`.
  std::uint64_t contributions = 0;
  std::uint64_t computed = 0;     ///< Contributions computed, those that were computed again included.
  /// Of a job that was started again with other settings: the step after which these hold. Empty: they never did.
  std::optional<Step> changed_after;
  unsigned deaths = 0;            ///< Of processes, those in the middle of something.
  unsigned resets = 0;            ///< Connections lost, in whatever way.
  unsigned refused_cuts = 0;      ///< Damaged ones that were passed over.
  std::uint64_t events = 0;       ///< Of the simulation.
  double seconds = 0;             ///< Simulated.
};

}  // namespace sim
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sim/impl/options.ipp>
#endif
