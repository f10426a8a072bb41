// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <limits>

namespace distrib {
inline namespace v0 {

/// How a shard behaves beyond what the job says.
struct ShardOptions {
  std::chrono::milliseconds lease{60'000};  ///< A rank that nobody has heard of for its lease
  std::chrono::milliseconds restart_window{600'000};  ///< and the time to start it again is lost for good.
  std::chrono::milliseconds save_again_after{5'000};  ///< A cut that found no room on the disk is followed by another.
  std::chrono::milliseconds linger{30'000};  ///< After the last cut, when nobody is joined: waits so long for goodbyes.
  /// A job whose values and slots need more is refused; tables grow up to what is left.
  std::uint64_t memory_budget_bytes = std::uint64_t{64} << 30;
  /// The same of all shards of a task together, in equal parts. A `Server` takes no more than half of
  /// `usable_memory()`, as a cut that is under way may hold another copy of the tables.
  std::uint64_t task_memory_bytes = std::numeric_limits<std::uint64_t>::max();
  std::uint64_t max_pull_bytes = std::uint64_t{1} << 30;  ///< A pull whose rows would be more is refused.
  std::size_t copy_bytes = std::size_t{512} << 10;  ///< A cut of tables is copied in such pieces, other events between.
};

}  // namespace v0
}  // namespace distrib
