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

/// What a trainer holds while it runs, so that no other job writes in its directories: the lock of the writer "chief"
/// where hooks write files, and in one process also those of the parameter servers, "ps-0" and whichever else there were,
/// where checkpoints are. A directory that is named twice is held once.
///
/// Threads: one at a time.
class WriterLocks {
 public:
  /// Of a job in one process. Both wait `within` for a process that is ending, then throw `ps_errc::directory_in_use` with
  /// the directory and the other process.
  DISTRIB_DECL void hold_local(const TrainingPlan& plan, std::chrono::milliseconds within = patience);

  /// Of the chief `who` of a cluster, whose parameter servers hold their own.
  DISTRIB_DECL void hold_chief(const TrainingPlan& plan, const std::string& who,
                               std::chrono::milliseconds within = patience);

 private:
  static constexpr std::chrono::milliseconds patience{5'000};

  DISTRIB_DECL void hold(const std::string& directory, const std::string& writer, const std::string& who,
                         std::chrono::milliseconds within);

  std::map<std::string, DirectoryLock> locks_;  // by the file
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/writer_locks.ipp>
#endif
