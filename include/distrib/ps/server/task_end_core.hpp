// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/job/step.hpp>

#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// The shards of one thread of a ps task, counted.
struct ShardTally {
  std::size_t shards = 0;           ///< Shards that exist on the thread.
  std::size_t over = 0;             ///< Shards that are over.
  std::size_t connections = 0;      ///< Connections that use a shard of the thread.
  std::uint32_t shards_of_job = 0;  ///< Shards of one task, replicas included; 0: no shard of the thread knows a job.
};

/// After this time check whether the directory has the checkpoint of a job's last step, then call `looked`.
struct LookForEnd {
  std::chrono::milliseconds after;
};
/// The directory has the checkpoint of a job's last step: call `ShardService::found_finished` of each shard.
struct TellFinished {
  Step step = 0;
};
/// If the job is `done`, call `finish` of each shard's `ShardFiles`. When all work with files is done, call
/// `files_done`.
struct EndFiles {
  bool done = false;
};
/// Stop reading, and let the answers be written, but not longer than this; then call `hung_up`. From now on call
/// `counted` whenever a connection ends; when all threads do so, call `counts_connections`.
struct HangUp {
  std::chrono::milliseconds within;
};
/// The task is over: its process ends with this code.
struct TaskOver {
  int code = 0;
};

/// Decides the end of a ps task: when all its shards are over, the exit code, and what to do before the process ends.
///
/// Its events are the reports of its shards, thread by thread; its actions are calls `out(action)`. No clock, no I/O,
/// no thread.
///
/// Threads: one at a time.
class TaskEndCore {
 public:
  static constexpr std::uint32_t most_shards = 256;  ///< Most shards of one task.

  /// `threads`: how many threads of the task have shards. `linger`: see `ShardOptions`.
  TaskEndCore(std::size_t threads, std::chrono::milliseconds linger) : linger_{linger}, tallies_(threads) {}

  /// Returns how many shards this task has, replicas included; `most_shards` while no job is known.
  [[nodiscard]] auto shards_of_job() const noexcept -> std::uint32_t { return shards_of_job_; }
  /// Returns why the code is not 0.
  [[nodiscard]] auto why() const noexcept -> const Error& { return why_; }

  /// The task listens. Starts to check the directory, if it has one, for the checkpoint of a job's last step. A process
  /// that was killed at the very end may be back before other tasks have made that checkpoint, and perhaps no worker
  /// connects any more; and a replica may be behind when all workers have ended.
  void start(bool has_directory, auto& out) {
    if (has_directory) out(LookForEnd{linger_});
  }
  /// The result of `LookForEnd`: the last step of a finished job; empty: there is no such checkpoint.
  void looked(std::optional<Step> finished, auto& out) {
    if (ending_) return;
    if (finished) out(TellFinished{*finished});
    out(LookForEnd{linger_});
  }

  /// The counts of a thread have changed.
  void counted(std::size_t thread, const ShardTally& tally, auto& out) {
    count(thread, tally);
    if (counts_connections_) end_if_alone(out);
  }

  /// A shard is over, see `ShardShell::ended`. The task ends when all its shards are over; when all shards that exist
  /// are over, if it was asked to stop; and at once if a shard ends with another code than 0 and 1, or was taken over. A shard that no
  /// worker has joined ends the task only if no shard of the task knows a job.
  void ended(std::size_t thread, const ShardTally& tally, int code, const Error& why, auto& out) {
    count(thread, tally);
    const bool has_job = shards_of_job_ != most_shards;
    if (why.code == ps_errc::nobody_joined && has_job) return;  // workers joined other shards
    if (code != exit_code::done && code_ == exit_code::done) {
      code_ = code;
      why_ = why;
    }
    const std::size_t over = sum(&ShardTally::over);
    // There is nothing to save any more.
    const bool taken_over = why.code == ps_errc::shard_taken_over;
    const bool saving = code_ == exit_code::again && !taken_over && over < sum(&ShardTally::shards);
    const bool training = code_ == exit_code::done && over < (has_job ? shards_of_job_ : 1);
    if (saving || training || std::exchange(ending_, true)) return;
    out(EndFiles{code_ == exit_code::done});
  }

  /// All work with files is done.
  void files_done(auto& out) { out(HangUp{hang_up_within}); }

  /// All threads now call `counted` when a connection ends. The task is over when there is no connection any more.
  void counts_connections(auto& out) {
    counts_connections_ = true;
    end_if_alone(out);
  }
  /// The time of `HangUp` is over: the task is over, whatever connections there are.
  void hung_up(auto& out) {
    if (!std::exchange(over_, true)) out(TaskOver{code_});
  }

 private:
  static constexpr std::chrono::milliseconds hang_up_within{2'000};

  void count(std::size_t thread, const ShardTally& tally) {
    tallies_[thread] = tally;
    shards_of_job_ = most_shards;
    for (const ShardTally& of_thread : tallies_)
      if (of_thread.shards_of_job != 0) shards_of_job_ = of_thread.shards_of_job;
  }

  [[nodiscard]] auto sum(std::size_t ShardTally::* number) const -> std::size_t {
    std::size_t sum = 0;
    for (const ShardTally& tally : tallies_) sum += tally.*number;
    return sum;
  }

  void end_if_alone(auto& out) {
    if (sum(&ShardTally::connections) == 0) hung_up(out);
  }

  std::chrono::milliseconds linger_;
  std::uint32_t shards_of_job_ = most_shards;
  std::vector<ShardTally> tallies_;  // the last counts of each thread
  int code_ = exit_code::done;
  Error why_;
  bool ending_ = false;
  bool counts_connections_ = false;
  bool over_ = false;
};

}  // namespace v0
}  // namespace distrib
