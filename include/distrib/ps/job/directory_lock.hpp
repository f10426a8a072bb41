// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>

#include <chrono>
#include <string>

namespace distrib {
inline namespace v0 {

/// Lets one process at a time write in a directory under a given writer's name ("ps-0", "chief"): a lock on
/// `DIRECTORY/.WRITER.lock`. The file names its holder. The operating system releases the lock when the process ends,
/// however it ends. Best effort: if the file cannot be made, or its file system has no locks, no process is refused. A
/// process that only reads needs no lock. Two objects of this class in one process are two holders.
///
/// Threads: one at a time.
class DirectoryLock {
 public:
  /// Makes the directory and takes the lock of `writer` in it; then releases another lock that this object held. If
  /// another holder has the lock, waits up to `within` for its end, but does not wait if the last refusal was for the
  /// same lock. An empty directory: does nothing. Holding this lock already: does nothing.
  ///
  /// Errors: `error` becomes `ps_errc::directory_in_use` if another holder has the lock; its text has `who`, the
  /// directory and the process that holds the lock. The lock that this object held stays. Call again later, or use
  /// another directory. On success `error` is cleared.
  DISTRIB_DECL void hold(const std::string& directory, const std::string& writer, const std::string& who,
                         std::chrono::milliseconds within, Error& error);

 private:
  DISTRIB_DECL static auto try_lock(const detail::FileDescriptor& file, std::chrono::milliseconds within) -> bool;

  // Writes into the file which process holds the lock. If that fails (a full disk), no process is named.
  DISTRIB_DECL static void sign(detail::FileDescriptor& file);

  // Reads which process holds the lock: a text for messages, empty if the file does not name a process.
  DISTRIB_DECL static auto holder(detail::FileDescriptor& file) -> std::string;

  detail::FileDescriptor file_;
  std::string held_;  // path of the lock that is held
  std::string refused_;  // path of the lock that another process had
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/directory_lock.ipp>
#endif
