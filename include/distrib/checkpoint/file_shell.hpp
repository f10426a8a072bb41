// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/error.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/io_action.hpp>

#include <fcntl.h>
#include <time.h>
#include <unistd.h>

#include <cerrno>
#include <cstdio>
#include <span>
#include <string>
#include <system_error>
#include <vector>

namespace distrib {
inline namespace v0 {

namespace detail {
inline auto cannot_write(const std::string& path, const std::error_code& reason) -> Error {
  const bool is_full = reason.value() == ENOSPC || reason.value() == EDQUOT;
  return {is_full ? checkpoint_errc::no_room : checkpoint_errc::cannot_write, with_reason(path, reason)};
}

/// The system's clock, in seconds since 1970.
inline auto seconds_now() noexcept -> double {
  ::timespec now{};
  ::clock_gettime(CLOCK_REALTIME, &now);
  return static_cast<double>(now.tv_sec) + 1e-9 * static_cast<double>(now.tv_nsec);
}
}  // namespace detail

/// Does one thing to a file, with POSIX. On failure `error` is `cannot_write` or `no_room`, with the path and the
/// system's reason. Blocks. Any thread.
inline void perform(const FileAction& action, Error& error) {
  using Kind = FileAction::Kind;
  error = {};
  std::error_code ec;
  if (action.kind == Kind::write) {
    detail::FileDescriptor file{action.path, O_WRONLY | O_CREAT | O_TRUNC, ec};
    for (const ByteView view : action.views)
      if (!ec) file.write(view, ec);
    if (!ec) file.write(action.owned, ec);
    if (!ec) file.close(ec);
  } else if (action.kind == Kind::sync) {
    detail::sync_path(action.path, O_RDONLY, ec);
  } else if (action.kind == Kind::sync_directory) {
    detail::sync_path(action.path, O_RDONLY | O_DIRECTORY, ec);
  } else if (action.kind == Kind::rename) {
    if (std::rename(action.from.c_str(), action.path.c_str()) != 0) ec = detail::last_os_error();
  } else if (action.kind == Kind::link) {
    if (::link(action.from.c_str(), action.path.c_str()) != 0 && errno != EEXIST) ec = detail::last_os_error();
  } else if (::unlink(action.path.c_str()) != 0 && errno != ENOENT) {
    ec = detail::last_os_error();
  }
  if (ec) error = detail::cannot_write(action.path, ec);
}

/// Makes the directory `path` and those above it that are not there, durably. Errors as `perform`.
inline void make_directories(const std::string& path, Error& error) {
  std::error_code ec;
  detail::make_directories(path, ec);
  error = {};
  if (ec) error = detail::cannot_write(path, ec);
}

/// The same, and makes sure that files can be written there.
inline void make_writable_directory(const std::string& path, Error& error) {
  make_directories(path, error);
  if (!error && ::access(path.c_str(), W_OK) != 0) error = detail::cannot_write(path, detail::last_os_error());
}

/// Performs a plan in order and stops at the first failure; what it has written and not renamed by then is removed, so
/// that it takes no room. See the other `perform`.
template <class = void> inline void perform(std::span<const FileAction> plan, Error& error) {
  using Kind = FileAction::Kind;
  error = {};
  std::vector<const std::string*> written;
  for (const FileAction& action : plan) {
    perform(action, error);
    const bool is_written = !error || error.code == checkpoint_errc::no_room;  // else it may not even be opened
    if (action.kind == Kind::write && is_written) written.push_back(&action.path);
    if (error) break;
    if (action.kind == Kind::rename)
      std::erase_if(written, [&](const auto* path) { return *path == action.from || *path == action.path; });
  }
  for (const std::string* path : written)
    if (error) ::unlink(path->c_str());
}

/// The same; fills `ec` only.
inline void perform(std::span<const FileAction> plan, std::error_code& ec) { perform(plan, detail::CodeOf{ec}); }

/// The same; throws `std::system_error` that names the file.
inline void perform(std::span<const FileAction> plan) {
  Error error;
  perform(plan, error);
  throw_if(error);
}

}  // namespace v0
}  // namespace distrib
