// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/file_descriptor.hpp>
#include <distrib/core/rounded.hpp>

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

/// Returns `path` with the message of `ec`: "PATH (No space left on device)".
inline auto with_reason(const std::string& path, std::error_code ec) -> std::string {
  return path + " (" + ec.message() + ")";
}

/// True if `path` exists and can be examined.
inline auto path_exists(const std::string& path) noexcept -> bool {
  struct ::stat status{};
  return ::stat(path.c_str(), &status) == 0;
}

/// True if `path` is a directory, or a symbolic link to one.
inline auto is_directory(const std::string& path) noexcept -> bool {
  struct ::stat status{};
  return ::stat(path.c_str(), &status) == 0 && S_ISDIR(status.st_mode);
}

/// Returns when the contents of the file changed last, in seconds since 1970; 0 if that is unknown.
inline auto change_seconds(const std::string& path) noexcept -> double {
  struct ::stat status{};
  if (::stat(path.c_str(), &status) != 0) return 0;
  return static_cast<double>(status.st_mtim.tv_sec) + opaque(1e-9 * static_cast<double>(status.st_mtim.tv_nsec));
}

/// Returns the first `most` bytes of a file, or all of it if it is shorter. On failure sets `ec` and returns the bytes
/// that were read before.
DISTRIB_DECL auto read_up_to(const std::string& path, std::size_t most, std::error_code& ec) -> std::string;

/// Returns the names of all entries of a directory, without "." and "..", in the system's order. On failure sets `ec`
/// and returns the names that were read before.
DISTRIB_DECL auto list_directory(const std::string& path, std::error_code& ec) -> std::vector<std::string>;

/// Makes a file's bytes durable, or a directory's list of names. `flags`: as for open(2). On failure sets `ec`.
inline void sync_path(const std::string& path, int flags, std::error_code& ec) noexcept {
  const FileDescriptor file{path, flags, ec};
  if (!ec && ::fsync(file.get()) != 0) ec = last_os_error();
}

/// A file that was created for one writer.
struct NewFile {
  std::string path;
  FileDescriptor file;  ///< Open for writing.
};

/// Creates the file `stem` + "0", or with the next number for which no file exists. So two writers never have the same
/// file, not even in two containers that share a directory and in which processes have the same number. On failure sets
/// `ec`; `path` is then what could not be created.
DISTRIB_DECL auto create_new_file(const std::string& stem, std::error_code& ec) -> NewFile;

/// Creates a file beside `path` with a hidden name, "DIRECTORY/.NAME.tmpPROCESS-NUMBER", which the caller fills and
/// renames to `path`, or removes. On failure as `create_new_file`.
DISTRIB_DECL auto create_hidden_file(const std::string& path, std::error_code& ec) -> NewFile;

/// Creates a file in the directory of `path` that has no name: it is gone when it is closed, also because the process
/// is killed, unless `give_name` has named it. `NewFile::path` is empty. On a file system that has no such files (NFS,
/// and many in user space) it does what `create_hidden_file` does.
DISTRIB_DECL auto create_unnamed_file(const std::string& path, std::error_code& ec) -> NewFile;

/// Makes the bytes of a file that `create_unnamed_file` made durable, and gives it the name `path` in one step; an
/// existing file `path` is replaced. The name is durable after `sync_name`. On failure sets `ec`, and the file has no
/// name.
DISTRIB_DECL void give_name(const NewFile& made, const std::string& path, std::error_code& ec);

/// Makes durable that the file or directory `path`, which this process made, has its name. On failure sets `ec`.
DISTRIB_DECL void sync_name(const std::string& path, std::error_code& ec) noexcept;

/// Holds the lock that the file `path` stands for. The constructor creates the file if necessary and waits until no
/// other FileLock, in this process or another, holds the lock. The destructor or the end of the process releases it.
/// Best effort: if the file cannot be created or its file system has no locks, the constructor returns without a lock.
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

/// Returns `path` as an absolute path, relative to the current directory. Returns it unchanged if it is empty, or if
/// the current directory is unknown.
DISTRIB_DECL auto absolute_path(const std::string& path) -> std::string;

/// Creates the directory `path` and its missing parents, durably. An existing directory is no failure. On failure, also
/// if `path` is empty, sets `ec`; parents that were created stay.
DISTRIB_DECL void make_directories(const std::string& path, std::error_code& ec);

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/core/impl/files.ipp>
#endif
