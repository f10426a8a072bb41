// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/sim/dice.hpp>

namespace distrib {
inline namespace v0 {
namespace sim {

/// What goes wrong in a simulated cluster, and how often. When, to whom and for how long is drawn: over the whole job, by
/// contributions made, and then at any moment after one. What finds nobody to happen to is left out, and so is what is of
/// disks when there is none. A value.
struct Faults {
  unsigned resets = 0;  ///< Connections that break. Both ends are told.
  unsigned half_open = 0;  ///< Connections that carry nothing any more, of which one end or none is told.
  unsigned partitions = 0;  ///< Some workers and some parameter servers do not reach each other for up to 50 s.
  unsigned worker_deaths = 0;  ///< Workers killed and started again. A fourth of all deaths comes in pairs.
  unsigned ps_deaths = 0;  ///< Parameter servers killed and started again.
  unsigned zombies = 0;  ///< Workers that go on beside their successor.
  unsigned power_losses = 0;  ///< All parameter servers die at once, and the disk forgets what was not synced.
  /// Bits of cuts at rest, while a parameter server is dead. Only where there is a way to go on: in synchronous jobs, in
  /// the newest cut of a shard, which is not the last of the job, when there is an older one to go on from; and the shard
  /// does not die again before it has a newer one.
  unsigned bit_flips = 0;
  unsigned full_disks = 0;  ///< There is no room for up to 20 s.
  unsigned slow_disks = 0;  ///< A file takes up to 5 s, for up to 20 s.
  unsigned slow_processes = 0;  ///< A process whose network and work are 30 times as slow as the others'.

  /// Some of each.
  [[nodiscard]] DISTRIB_DECL static auto drawn(Dice& dice) -> Faults;
};

}  // namespace sim
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sim/impl/faults.ipp>
#endif
