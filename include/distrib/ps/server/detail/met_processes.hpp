// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/step.hpp>

#include <algorithm>
#include <cstdint>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The processes of the workers that a shard has met since it started, in a job that is not replayable
/// (`Job::replayable`): finds out whether contributions are lost with an earlier process. A value.
class MetProcesses {
 public:
  explicit MetProcesses(Rank ranks = 0) : ranks_(ranks, Met::none) {}

  /// A process of `rank` joins. `has_begun`: it has begun a contribution. Returns false if the job cannot continue:
  /// - the process is new, and an earlier one of its rank has contributed;
  /// - one worker is new, and another one has contributed before this shard started: the contributions of the new one
  ///   may have been lost together with the shard.
  ///
  /// Trap: the second rule also ends a job in which the new worker never had another process. That can happen only if
  /// the shard is lost before all workers have joined it.
  [[nodiscard]] auto joins(Rank rank, bool has_begun) -> bool {
    Met& met = ranks_[rank];
    if (!has_begun && (met == Met::pushed || met == Met::begun)) return false;
    if (met == Met::none) met = has_begun ? Met::begun : Met::idle;
    return !(std::ranges::count(ranks_, Met::begun) > 0 && std::ranges::count_if(ranks_, was_new) > 0);
  }

  /// A contribution of `rank` has arrived.
  void pushed(Rank rank) {
    if (ranks_[rank] == Met::idle) ranks_[rank] = Met::pushed;
  }

 private:
  enum class Met : std::uint8_t {
    none,  // no process has joined
    idle,  // one has joined that had not begun, and nothing has come from it
    pushed,  // as `idle`, and a contribution has come
    begun,  // one has joined that had begun before
  };

  static auto was_new(Met met) noexcept -> bool { return met == Met::idle || met == Met::pushed; }

  std::vector<Met> ranks_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
