// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sim/detail/world.hpp>

#include <cstdio>

namespace distrib {
inline namespace v0 {
namespace sim {
namespace detail {

DISTRIB_DECL World::World(const Job& of_job, ShardKinds of_kinds, CutSettings settings, const Options& with)
    : job{of_job}, kinds{std::move(of_kinds)}, cuts{std::move(settings)}, options{with}, dice{with.seed} {
  faults = with.faults ? *with.faults : Faults::drawn(dice);
  network = with.network ? *with.network : detail::drawn_network(dice);
  cuts.directory.clear();
  if (!with.directory.empty())
    disk.emplace(distrib::detail::join_path(with.directory, "sim-" + std::to_string(with.seed)), scheduler, dice);
  if (disk) cuts.directory = disk->directory();
}

DISTRIB_DECL void World::tell(const std::string& who, const std::string& what) const {
  if (!traces()) return;
  char time[32];
  const std::chrono::duration<double, std::milli> passed = now() - begun;
  std::snprintf(time, sizeof time, "%12.3f ", passed.count());
  options.trace(time + who + " " + what);
}

}  // namespace detail
}  // namespace sim
}  // namespace v0
}  // namespace distrib
