// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/detail/paths.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib::inline v0::detail {

inline auto last_os_error() noexcept -> std::error_code { return {errno, std::generic_category()}; }

/// Owns an open file of the operating system. Movable. One thread at a time.
class FileDescriptor {
 public:
  FileDescriptor() = default;

  /// Opens `path` with the flags of open(2). On failure `is_open()` is false and `ec` says why.
  FileDescriptor(const std::string& path, int flags, std::error_code& ec) noexcept {
    do {
      fd_ = ::open(path.c_str(), flags | O_CLOEXEC, 0666);
    } while (fd_ < 0 && errno == EINTR);
    ec = fd_ < 0 ? last_os_error() : std::error_code{};
  }

  FileDescriptor(FileDescriptor&& other) noexcept : fd_{std::exchange(other.fd_, -1)} {}
  auto operator=(FileDescriptor&& other) noexcept -> FileDescriptor& {
    std::swap(fd_, other.fd_);
    return *this;
  }
  ~FileDescriptor() {
    if (fd_ >= 0) ::close(fd_);
  }

  [[nodiscard]] auto is_open() const noexcept -> bool { return fd_ >= 0; }
  [[nodiscard]] auto get() const noexcept -> int { return fd_; }

  /// Reads up to `to.size()` bytes; 0 at the end and on failure.
  auto read(std::span<std::byte> to, std::error_code& ec) noexcept -> std::size_t {
    ssize_t count = 0;
    do {
      count = ::read(fd_, to.data(), to.size());
    } while (count < 0 && errno == EINTR);
    ec = count < 0 ? last_os_error() : std::error_code{};
    return count < 0 ? 0 : static_cast<std::size_t>(count);
  }

  /// Writes all `pieces`, which it uses up.
  void write(std::span<iovec> pieces, std::error_code& ec) noexcept {
    ec.clear();
    while (true) {
      while (!pieces.empty() && pieces.front().iov_len == 0) pieces = pieces.subspan(1);
      if (pieces.empty()) return;
      const ssize_t count = ::writev(fd_, pieces.data(), static_cast<int>(pieces.size()));
      if (count < 0 && errno == EINTR) continue;
      if (count < 0) {
        ec = last_os_error();
        return;
      }
      auto written = static_cast<std::size_t>(count);
      for (iovec& piece : pieces) {
        const std::size_t part = written < piece.iov_len ? written : piece.iov_len;
        piece.iov_base = static_cast<std::byte*>(piece.iov_base) + part;
        piece.iov_len -= part;
        written -= part;
      }
    }
  }

  /// Writes all of `bytes`.
  void write(std::span<const std::byte> bytes, std::error_code& ec) noexcept {
    iovec piece{const_cast<std::byte*>(bytes.data()), bytes.size()};  // writev only reads them
    write(std::span{&piece, 1}, ec);
  }

  /// Closes, and reports what a file system held back until now.
  void close(std::error_code& ec) noexcept {
    ec = ::close(std::exchange(fd_, -1)) == 0 ? std::error_code{} : last_os_error();
  }

 private:
  int fd_ = -1;
};

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

/// Names of all that is in a directory, "." and ".." left out, in the system's order.
inline auto list_directory(const std::string& path, std::error_code& ec) -> std::vector<std::string> {
  std::vector<std::string> names;
  ::DIR* const directory = ::opendir(path.c_str());
  ec = directory == nullptr ? last_os_error() : std::error_code{};
  if (directory == nullptr) return names;
  errno = 0;
  while (const ::dirent* entry = ::readdir(directory)) {
    const std::string_view name = entry->d_name;
    if (name != "." && name != "..") names.emplace_back(name);
  }
  if (errno != 0) ec = last_os_error();
  ::closedir(directory);
  return names;
}

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
inline auto absolute_path(const std::string& path) -> std::string {
  std::string here(4096, '\0');
  if (path.empty() || path.front() == '/' || ::getcwd(here.data(), here.size()) == nullptr) return path;
  here.resize(here.find('\0'));
  return join_path(here, path);
}

/// Makes the directory `path` and those above it that are not there, durably.
inline void make_directories(const std::string& path, std::error_code& ec) {
  ec.clear();
  std::size_t slash = 0;
  while (slash != std::string::npos) {
    slash = path.find('/', slash + 1);
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0777) == 0) {
      sync_path(directory_of(part), O_RDONLY | O_DIRECTORY, ec);
      if (ec) return;
      continue;
    }
    ec = last_os_error();  // above the last part no reason to give up: what is not ours to make may be there
    if (is_directory(part)) ec.clear();
    if (ec == std::errc::file_exists) ec = std::make_error_code(std::errc::not_a_directory);
  }
}

}  // namespace distrib::inline v0::detail
