// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/export_log/directory_log.hpp>

#include <distrib/core/file_descriptor.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/export_log/error.hpp>

#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include <cerrno>
#include <system_error>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto log_file_error(const std::string& path, const std::error_code& reason) -> Error {
  return reason ? Error{reason, path} : Error{};
}

}  // namespace detail

DISTRIB_DECL auto DirectoryLog::read_head(Error& error) const -> std::optional<StampedHead> {
  error = {};
  const std::string path = detail::join_path(directory_, std::string{log_head_name});
  std::error_code ec;
  const std::string text = detail::read_up_to(path, max_log_text_bytes + 1, ec);
  if (ec == std::errc::no_such_file_or_directory) {
    if (!detail::is_directory(directory_)) error = {export_errc::no_log, directory_};
    return std::nullopt;
  }
  if (ec) {
    error = {ec, path};
    return std::nullopt;
  }
  std::optional<LogHead> head = parse_log_head(text, error);
  if (!head) {
    error.where = path + ", " + error.where;
    return std::nullopt;
  }
  return StampedHead{std::move(*head), text};
}

DISTRIB_DECL void DirectoryLog::replace(const std::string& path, ByteView bytes, Error& error) const {
  std::error_code ec;
  detail::make_directories(detail::directory_of(path), ec);
  if (ec) {
    error = {ec, path};
    return;
  }
  detail::NewFile file = detail::create_unnamed_file(path, ec);
  if (!ec) file.file.write(bytes, ec);
  if (!ec) detail::give_name(file, path, ec);
  if (!ec) detail::sync_name(path, ec);
  error = detail::log_file_error(path, ec);
}

DISTRIB_DECL auto DirectoryLog::swap_head(const std::string& version, const LogHead& head, Error& error) const -> bool {
  error = {};
  std::error_code ec;
  detail::make_directories(directory_, ec);
  const std::string lock = detail::join_path(directory_, ".head.lock");
  detail::FileDescriptor file;
  if (!ec) file = detail::FileDescriptor{lock, O_RDWR | O_CREAT, ec};
  if (ec) {
    error = {ec, lock};
    return false;
  }
  while (::flock(file.get(), LOCK_EX) != 0) {
    if (errno == EINTR) continue;
    error = {export_errc::no_locks, lock};
    return false;
  }
  const std::optional<StampedHead> now = read_head(error);
  if (error || (now ? now->version : std::string{}) != version) return false;
  replace(detail::join_path(directory_, std::string{log_head_name}), as_bytes(to_text(head)), error);
  return !error;
}

DISTRIB_DECL auto DirectoryLog::get(const std::string& name, std::uint64_t most_bytes, Error& error) const
    -> std::vector<std::byte> {
  error = {};
  const std::string path = detail::join_path(directory_, name);
  std::error_code ec;
  detail::FileDescriptor probe{path, O_RDONLY, ec};
  std::vector<std::byte> bytes;
  if (ec == std::errc::no_such_file_or_directory) {
    error = {export_errc::missing_object, path};
    return bytes;
  }
  struct ::stat status{};
  if (!ec && ::fstat(probe.get(), &status) != 0) ec = detail::last_os_error();
  if (ec) {
    error = {ec, path};
    return bytes;
  }
  if (status.st_size < 0 || static_cast<std::uint64_t>(status.st_size) > most_bytes) {
    error = {export_errc::bad_object, path + ", " + std::to_string(status.st_size) + " bytes"};
    return bytes;
  }
  bytes.resize(static_cast<std::size_t>(status.st_size));
  std::size_t at = 0;
  while (at < bytes.size() && !ec) {
    const std::size_t got = probe.read(std::span{bytes}.subspan(at), ec);
    if (got == 0) break;
    at += got;
  }
  bytes.resize(at);
  error = detail::log_file_error(path, ec);
  return bytes;
}

DISTRIB_DECL void DirectoryLog::put(const std::string& name, ByteView bytes, Error& error) const {
  error = {};
  const std::string path = detail::join_path(directory_, name);
  if (!detail::path_exists(path)) replace(path, bytes, error);
}

DISTRIB_DECL void DirectoryLog::remove(const std::string& name, Error& error) const {
  error = {};
  const std::string path = detail::join_path(directory_, name);
  if (::unlink(path.c_str()) != 0 && errno != ENOENT) error = {detail::last_os_error(), path};
}

}  // namespace v0
}  // namespace distrib
