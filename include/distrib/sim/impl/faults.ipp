// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sim/faults.hpp>

namespace distrib {
inline namespace v0 {
namespace sim {

DISTRIB_DECL auto Faults::drawn(Dice& dice) -> Faults {
  const auto often = [&] { return dice.pick({0U, 1U, 3U, 8U}); };
  const auto some = [&] { return dice.pick({0U, 0U, 1U, 3U}); };
  const auto seldom = [&] { return dice.pick({0U, 0U, 0U, 1U}); };
  Faults faults;
  faults.resets = often();
  faults.half_open = seldom();
  faults.partitions = seldom();
  faults.worker_deaths = some();
  faults.ps_deaths = some();
  faults.zombies = seldom();
  faults.power_losses = seldom();
  faults.bit_flips = seldom();
  faults.full_disks = seldom();
  faults.slow_disks = seldom();
  faults.slow_processes = seldom();
  return faults;
}

}  // namespace sim
}  // namespace v0
}  // namespace distrib
