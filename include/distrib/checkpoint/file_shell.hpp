// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/error.hpp>
#include <distrib/checkpoint/file_names.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/io_action.hpp>

#include <fcntl.h>
#include <sys/stat.h>
#include <unistd.h>
#include <cerrno>
#include <cstddef>
#include <cstdio>
#include <span>
#include <string>
#include <system_error>
#include <utility>
#include <variant>

namespace distrib::inline v0 {

namespace detail {

/// Closes what it holds. -1: nothing.
class CheckpointFile {
 public:
  explicit CheckpointFile(int number) noexcept : number_{number} {}
  CheckpointFile(CheckpointFile&& other) noexcept : number_{std::exchange(other.number_, -1)} {}
  ~CheckpointFile() { static_cast<void>(close()); }

  [[nodiscard]] auto get() const noexcept -> int { return number_; }
  [[nodiscard]] auto close() noexcept -> bool { return number_ < 0 || ::close(std::exchange(number_, -1)) == 0; }

 private:
  int number_;
};

/// "PATH (No space left on device)" from errno.
inline auto with_reason(const std::string& path) -> std::string {
  return path + " (" + std::generic_category().message(errno) + ")";
}

inline auto write_all(int file, ByteView bytes) noexcept -> bool {
  while (!bytes.empty()) {
    const ::ssize_t written = ::write(file, bytes.data(), bytes.size());
    if (written < 0 && errno == EINTR) continue;
    if (written < 0) return false;
    bytes = bytes.subspan(static_cast<std::size_t>(written));
  }
  return true;
}

/// Does what a FileAction says with POSIX; false with the reason in errno.
struct FilePerformer {
  auto operator()(const WriteFile& action) const noexcept -> bool {
    CheckpointFile file{::open(action.path.c_str(), O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0666)};
    if (file.get() < 0) return false;
    for (const ByteView view : action.views)
      if (!write_all(file.get(), view)) return false;
    return write_all(file.get(), action.owned) && file.close();
  }
  auto operator()(const SyncFile& action) const noexcept -> bool { return sync(action.path, O_RDONLY); }
  auto operator()(const SyncDirectory& action) const noexcept -> bool {
    return sync(action.path, O_RDONLY | O_DIRECTORY);
  }
  auto operator()(const RenameFile& action) const noexcept -> bool {
    return std::rename(action.from.c_str(), action.to.c_str()) == 0;
  }
  auto operator()(const RemoveFile& action) const noexcept -> bool {
    return ::unlink(action.path.c_str()) == 0 || errno == ENOENT;
  }

  static auto sync(const std::string& path, int flags) noexcept -> bool {
    CheckpointFile file{::open(path.c_str(), flags | O_CLOEXEC)};
    return file.get() >= 0 && ::fsync(file.get()) == 0;
  }
};

inline auto path_of(const FileAction& action) -> const std::string& {
  if (const auto* rename = std::get_if<RenameFile>(&action)) return rename->to;
  if (const auto* write = std::get_if<WriteFile>(&action)) return write->path;
  if (const auto* file = std::get_if<SyncFile>(&action)) return file->path;
  if (const auto* directory = std::get_if<SyncDirectory>(&action)) return directory->path;
  return std::get<RemoveFile>(action).path;
}

}  // namespace detail

/// Does one thing to a file, with POSIX. On failure `error` is `cannot_write` with the path and the system's reason.
/// Blocks. Any thread.
inline void perform(const FileAction& action, Error& error) {
  error = {};
  if (!std::visit(detail::FilePerformer{}, action))
    error = {checkpoint_errc::cannot_write, detail::with_reason(detail::path_of(action))};
}

/// Makes the directory `path` and those above it that are not there, durably. Errors as `perform`.
inline void make_directories(const std::string& path, Error& error) {
  error = {};
  std::size_t slash = 0;
  while (slash != std::string::npos) {
    slash = path.find('/', slash + 1);
    const std::string part = path.substr(0, slash);
    if (::mkdir(part.c_str(), 0777) == 0) {
      perform(SyncDirectory{detail::directory_of(part)}, error);
      if (error) return;
      continue;
    }
    if (errno == EEXIST || errno == EISDIR) continue;
    if (slash != std::string::npos && errno != ENOENT) continue;  // a directory above that is not ours to make
    error = {checkpoint_errc::cannot_write, detail::with_reason(path)};
    return;
  }
}

/// Performs a plan in order and stops at the first failure. See the other `perform`.
inline void perform(std::span<const FileAction> plan, Error& error) {
  error = {};
  for (const FileAction& action : plan) {
    perform(action, error);
    if (error) return;
  }
}

/// The same; fills `ec` only.
inline void perform(std::span<const FileAction> plan, std::error_code& ec) {
  Error error;
  perform(plan, error);
  ec = error.code;
}

/// The same; throws `std::system_error` that names the file.
inline void perform(std::span<const FileAction> plan) {
  Error error;
  perform(plan, error);
  throw_if(error);
}

}  // namespace distrib::inline v0
