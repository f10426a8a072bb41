// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>

#include <chrono>
#include <string>

namespace distrib {
inline namespace v0 {

/// Lets one process at a time write as one of a job's writers ("ps-0", "chief") in a directory: a lock on
/// `DIRECTORY/.WRITER.lock`, which says whose it is. The system takes it away when the process ends, however it ends.
/// Best effort: where the file can't be made or its file system has no locks, nobody is refused. Whoever only reads needs
/// none. Two of these in one process are two writers.
///
/// Threads: one at a time.
class DirectoryLock {
 public:
  /// Makes the directory and holds the lock of this writer there, in place of that of another directory; waits `within`
  /// for a process that is ending, the first time. `error`: `ps_errc::directory_in_use`, with `who`, the directory and the
  /// other process. Empty directory: nothing.
  DISTRIB_DECL void hold(const std::string& directory, const std::string& writer, const std::string& who,
                         std::chrono::milliseconds within, Error& error);

 private:
  DISTRIB_DECL static auto try_lock(const detail::FileDescriptor& file, std::chrono::milliseconds within) -> bool;

  // Where there is no room for it nobody is named.
  DISTRIB_DECL static void sign(detail::FileDescriptor& file);

  DISTRIB_DECL static auto holder(detail::FileDescriptor& file) -> std::string;

  detail::FileDescriptor file_;
  std::string held_;
  std::string refused_;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/directory_lock.ipp>
#endif
