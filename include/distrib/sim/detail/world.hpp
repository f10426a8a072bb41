// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/cut_settings.hpp>
#include <distrib/ps/job/erased_keys.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/any_shard.hpp>
#include <distrib/sim/detail/link.hpp>
#include <distrib/sim/dice.hpp>
#include <distrib/sim/disk.hpp>
#include <distrib/sim/network_options.hpp>
#include <distrib/sim/options.hpp>
#include <distrib/sim/scheduler.hpp>
#include <distrib/sim/wire.hpp>

#include <algorithm>
#include <chrono>
#include <cstdint>
#include <functional>
#include <map>
#include <optional>
#include <set>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace sim::detail {

class ShardHost;

/// What all processes of a simulated cluster share: time, dice, network, disk, and what was noted about them.
struct World {
  DISTRIB_DECL World(const Job& of_job, ShardKinds of_kinds, CutSettings settings, const Options& with);
  World(const World&) = delete;
  auto operator=(const World&) -> World& = delete;

  [[nodiscard]] auto now() const noexcept -> Instant { return scheduler.now(); }
  auto pause() -> std::chrono::microseconds { return std::chrono::microseconds{dice.between(1, 300)}; }
  auto disk_time() -> std::chrono::microseconds {
    return now() < disk_slow_until ? std::chrono::microseconds{dice.between(1, 5'000'000)} : 20 * pause();
  }

  /// Returns how many times slower than normal the process named `who` ("rank 1") is: 30 if it is a slow one, otherwise
  /// 1.
  [[nodiscard]] auto factor(const std::string& who) const -> int {
    return std::find(slow.begin(), slow.end(), who) != slow.end() ? 30 : 1;
  }

  /// Returns until when these two cannot reach each other. A time in the past: they can.
  [[nodiscard]] auto parted_until(Rank rank, std::uint32_t task) const -> Instant {
    const auto at = parted.find({rank, task});
    return at == parted.end() ? Instant{} : at->second;
  }

  void fail(const std::string& what) {
    if (wrong.empty()) tell("simulation", "found: " + (wrong = what));
  }

  /// True if there is a trace. Building a text for `tell` costs time, so ask this first.
  [[nodiscard]] auto traces() const noexcept -> bool { return static_cast<bool>(options.trace); }
  DISTRIB_DECL void tell(const std::string& who, const std::string& what) const;

  Job job;
  ShardKinds kinds;
  CutSettings cuts;
  Options options;
  Dice dice;
  Scheduler scheduler;
  Instant begun = scheduler.now();
  Faults faults;
  NetworkOptions network;
  std::vector<ShardHost*> shards;  // shards and replicas of shards, by their numbers
  std::vector<LinkPointer> links;  // all connections ever made: scheduled events of their wires refer to them
  std::optional<Disk> disk;
  Instant disk_slow_until{};
  std::vector<std::string> slow;  // names of slow processes
  std::map<std::pair<Rank, std::uint32_t>, Instant> parted;  // by worker and ps task: see `parted_until`
  std::set<Rank> lost;  // their workers were lost for good, or for long; nothing waits for them
  unsigned flips_due = 0;
  std::function<void()> contributed;  // called after each contribution that was computed
  unsigned deaths = 0, resets = 0, refused_cuts = 0;
  std::vector<std::string> refusals;
  std::optional<RankLog> ranks;  // the entries that are durable at some shard; empty: the job's ranks never change
  std::set<ErasedKeys> erased;  // what is durable at some shard
  bool one_ended = true;  // a process has ended since the cluster last looked whether all have
  std::string wrong;
};

}  // namespace sim::detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sim/detail/impl/world.ipp>
#endif
