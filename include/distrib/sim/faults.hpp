// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/sim/dice.hpp>

#include <cstdint>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace sim {

/// What goes wrong in a simulated cluster, and how often. When, where and for how long is drawn from the seed: a fault
/// is due when a number of contributions, drawn from the whole job, has been made, and happens at a random moment soon
/// after that. A fault that finds nothing to happen to is left out. If there is no disk, `power_losses`, `bit_flips`
/// and `full_disks` are left out. A value.
struct Faults {
  unsigned resets = 0;  ///< Connections that break; both ends are told.
  unsigned half_open = 0;  ///< Connections that carry nothing any more; only one end is told, or none.
  unsigned partitions = 0;  ///< Some workers and some parameter servers cannot reach each other for up to 50 s.
  /// Workers that are killed and started again. At a quarter of the deaths of workers and parameter servers another
  /// process, a worker or a parameter server, is killed at the same moment, in addition to these numbers.
  unsigned worker_deaths = 0;
  unsigned ps_deaths = 0;  ///< Parameter servers that are killed and started again.
  unsigned zombies = 0;  ///< Workers that continue although a new process of their rank has started.
  unsigned power_losses = 0;  ///< All parameter servers die at once, and the disk forgets what was not synced.
  /// Bits of cuts that flip on the disk while a parameter server is dead. Only where the job can go on: in a
  /// synchronous job, in the newest cut of a shard, if that is not the last cut of the job and an older good one
  /// exists. The shard does not die again before it has a newer cut.
  unsigned bit_flips = 0;
  unsigned full_disks = 0;  ///< The disk is full for up to 20 s.
  /// For up to 20 s, work on a cut takes up to 5 s; also if there is no disk.
  unsigned slow_disks = 0;
  /// Workers and parameter servers with a network that is 30 times slower than normal. Such a worker also computes 30
  /// times slower. A worker that is started again is no longer slow.
  unsigned slow_processes = 0;

  /// Requests for other ranks, in a job with `Job::most_ranks`: an operator asks some shards or all, and what it knows
  /// of them may be old.
  unsigned scalings = 0;
  /// Workers that are killed and never started again, or a long time later. Only in a job with backup workers
  /// (`BulkSynchronousParallel::replicas_to_aggregate`), not more of them than the job can do without, and not the
  /// chief. See `Options::lost_after`.
  unsigned losses = 0;

  /// Requests to erase keys of `erasable`, in a job with `Job::erases_keys`: each at some shards or at all.
  unsigned erasures = 0;
  std::vector<std::uint64_t> erasable = {};  ///< Keys that may be erased, of any table.

  /// Returns how many faults of each kind happen in a run, drawn from `dice`: 0, 1, 3 or 8 `resets`; 0, 1 or 3 of
  /// `worker_deaths` and of `ps_deaths`; no `scalings`, `losses` and `erasures`; 0 or 1 of every other kind. The numbers
  /// do not depend on whether there is a disk.
  [[nodiscard]] DISTRIB_DECL static auto drawn(Dice& dice) -> Faults;
};

}  // namespace sim
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sim/impl/faults.ipp>
#endif
