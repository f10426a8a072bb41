// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/file_descriptor.hpp>
#include <distrib/core/paths.hpp>

#include <dirent.h>
#include <fcntl.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include <algorithm>
#include <array>
#include <cerrno>
#include <cstddef>
#include <span>
#include <string>
#include <string_view>
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
template <class = void>
auto read_up_to(const std::string& path, std::size_t most, std::error_code& ec) -> std::string {
  FileDescriptor file{path, O_RDONLY, ec};
  std::string text;
  std::array<char, 4096> block;
  while (!ec && text.size() < most) {
    const std::span room{block.data(), std::min(block.size(), most - text.size())};
    const std::size_t count = file.read(std::as_writable_bytes(room), ec);
    if (count == 0) break;
    text.append(block.data(), count);
  }
  return text;
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

}  // namespace detail
}  // namespace v0
}  // namespace distrib
