// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace distrib {
inline namespace v0 {

/// When a `RankDealer` deals.
struct DealingTimes {
  /// A process that has not asked for this long is lost: its ranks are dealt to others. Must be longer than the pauses
  /// between two questions of a process.
  std::chrono::milliseconds adopt_after{15'000};
  /// How long the dealer waits for processes at its start, unless all that are expected have asked.
  std::chrono::milliseconds deal_after{2'000};
};

/// Settings of a shard that are not part of the job.
struct ShardOptions {
  /// `lease` and `restart_window` together: a rank that has been without a connection for this long is lost
  /// permanently. Counted from the end of its last connection; a silent worker is disconnected first
  /// (`RpcServerOptions::silent_after`).
  std::chrono::milliseconds lease{60'000};
  std::chrono::milliseconds restart_window{600'000};  ///< Time to start a worker again, see `lease`.
  /// Pause before another cut is tried after one that found no disk space; also between two requests to the other
  /// replica.
  std::chrono::milliseconds save_again_after{5'000};
  /// How long a shard with the last cut waits for goodbyes while no worker is joined.
  std::chrono::milliseconds linger{30'000};
  /// Most memory for one shard. A job whose values and slots need more is refused; its tables may grow to what is left.
  std::uint64_t memory_budget_bytes = std::uint64_t{64} << 30;
  /// Most memory for all shards of a task together, in equal parts. A `Server` uses at most half of the memory that
  /// this process may use, because a cut that is being made may hold another copy of the tables.
  std::uint64_t task_memory_bytes = std::numeric_limits<std::uint64_t>::max();
  /// A pull whose rows need more bytes is refused with `ps_errc::pull_too_large`, which ends the job. The answer is one
  /// message, so a higher limit also needs a higher `FrameLimits::body_bytes` of the workers.
  std::uint64_t max_pull_bytes = std::uint64_t{256} << 20;
  /// A cut of tables is copied in pieces of this size, with other events between them.
  std::size_t copy_bytes = std::size_t{512} << 10;
  /// In a job whose ranks may change: a change takes effect this many steps ahead at the earliest, about. In a job whose
  /// keys may be erased: they go so late at most, and only after a restart. The file of the log is written once in half
  /// as many steps.
  std::uint64_t rank_steps_ahead = 1000;
  DealingTimes dealing = {};  ///< In a job with dealt ranks: when they are dealt.
};

}  // namespace v0
}  // namespace distrib
