// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/file_descriptor.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// "PATH (No space left on device)".
inline auto with_reason(const std::string& path, std::error_code ec) -> std::string {
  return path + " (" + ec.message() + ")";
}

inline auto path_exists(const std::string& path) noexcept -> bool {
  struct ::stat status{};
  return ::stat(path.c_str(), &status) == 0;
}

inline auto is_directory(const std::string& path) noexcept -> bool {
  struct ::stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// When the content of a file was changed last, in seconds since 1970; 0 when that cannot be told.
inline auto change_seconds(const std::string& path) noexcept -> double {
  struct ::stat status{};
  if (::stat(path.c_str(), &status) != 0) return 0;
  return static_cast<double>(status.st_mtim.tv_sec) + 1e-9 * static_cast<double>(status.st_mtim.tv_nsec);
}

/// The first `most` bytes of a file; all of it when it has fewer. What was read before a failure.
DISTRIB_DECL auto read_up_to(const std::string& path, std::size_t most, std::error_code& ec) -> std::string;

/// Names of all that is in a directory, "." and ".." left out, in the system's order.
DISTRIB_DECL auto list_directory(const std::string& path, std::error_code& ec) -> std::vector<std::string>;

/// Makes what was done to the names in a directory, or to a file's bytes, durable.
inline void sync_path(const std::string& path, int flags, std::error_code& ec) noexcept {
  const FileDescriptor file{path, flags, ec};
  if (!ec && ::fsync(file.get()) != 0) ec = last_os_error();
}

/// Waits until nobody else holds the lock that the file `path` stands for, in this process or another, and holds it
/// until it or the process ends. Best effort: where the file cannot be made or its file system has no locks, nothing is
/// held.
class FileLock {
 public:
  explicit FileLock(const std::string& path) noexcept {
    std::error_code ignored;
    file_ = FileDescriptor{path, O_RDWR | O_CREAT, ignored};
    while (file_.is_open() && ::flock(file_.get(), LOCK_EX) != 0 && errno == EINTR) {
    }
  }

 private:
  FileDescriptor file_;
};

/// `path` from the root on, as seen from the present directory; unchanged when that cannot be told.
DISTRIB_DECL auto absolute_path(const std::string& path) -> std::string;

/// Makes the directory `path` and those above it that are not there, durably.
DISTRIB_DECL void make_directories(const std::string& path, std::error_code& ec);

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/files.ipp>
#endif
