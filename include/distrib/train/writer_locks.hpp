// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/directory_lock.hpp>
#include <distrib/train/training_plan.hpp>

#include <chrono>
#include <map>
#include <string>

namespace distrib {
inline namespace v0 {

/// The locks that a trainer holds while it runs, so that no other job writes in its directories. Where hooks write
/// files it holds the lock of the writer "chief". A job in one process also holds, where its checkpoints are, the locks
/// of parameter servers: "ps-0", and every other one that has a lock file there. A directory that is named twice is
/// locked once. Best effort, see `DirectoryLock`: without support for locks no job is refused. Directories of object
/// stores have no locks: cuts there have claims, see `ObjectCuts`. The destructor releases the locks.
///
/// Threads: one at a time.
class WriterLocks {
 public:
  /// Takes the locks for a job in one process. All functions wait up to `within` for each lock that another process
  /// holds, then throw `ps_errc::directory_in_use` with the directory and that process.
  DISTRIB_DECL void hold_local(const TrainingPlan& plan, std::chrono::milliseconds within = patience);

  /// Takes the locks for an evaluator: of the writer "evaluator", where its hooks write files.
  DISTRIB_DECL void hold_evaluator(const TrainingPlan& plan, const std::string& who,
                                   std::chrono::milliseconds within = patience);

  /// Takes the locks for the chief of a cluster. Its parameter servers hold the locks of the cuts themselves. `who`:
  /// name of the task, for the text of an error.
  DISTRIB_DECL void hold_chief(const TrainingPlan& plan, const std::string& who,
                               std::chrono::milliseconds within = patience);

 private:
  static constexpr std::chrono::milliseconds patience{5'000};

  DISTRIB_DECL void hold(const std::string& directory, const std::string& writer, const std::string& who,
                         std::chrono::milliseconds within);

  std::map<std::string, DirectoryLock> locks_;  // by the path of the lock
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/writer_locks.ipp>
#endif
