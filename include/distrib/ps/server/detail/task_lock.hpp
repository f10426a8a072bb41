// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>

#include <chrono>
#include <cstdint>
#include <string>

namespace distrib {
inline namespace v0 {
namespace detail {

/// That one process of a ps task at a time has the directory of its cuts: a lock on `DIRECTORY/.ps-INDEX.lock`, which
/// says whose it is. The system takes it away when the process ends, however it ends. Best effort: where the file can't
/// be made or its file system has no locks, nobody is refused. Whoever only reads needs none.
///
/// Threads: one at a time.
class TaskLock {
 public:
  /// Makes the directory and holds its lock, in place of that of another one; waits `within` for a process that is
  /// ending, the first time. `error`: `directory_in_use`, with task, directory and process. Empty directory: nothing.
  DISTRIB_DECL void hold(const std::string& directory, std::uint32_t task, std::chrono::milliseconds within,
                         Error& error);

 private:
  DISTRIB_DECL static auto try_lock(const FileDescriptor& file, std::chrono::milliseconds within) -> bool;

  // Where there is no room for it nobody is named.
  DISTRIB_DECL static void sign(FileDescriptor& file);

  DISTRIB_DECL static auto holder(FileDescriptor& file) -> std::string;

  FileDescriptor file_;
  std::string held_;
  std::string refused_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/server/detail/impl/task_lock.ipp>
#endif
