// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/directory_lock.hpp>

#include <distrib/core/bytes.hpp>
#include <distrib/core/files.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/net/instant.hpp>
#include <distrib/ps/job/error.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <cstddef>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void DirectoryLock::hold(const std::string& directory, const std::string& writer, const std::string& who,
                                      std::chrono::milliseconds within, Error& error) {
  error = {};
  const std::string path = detail::join_path(directory, "." + writer + ".lock");
  if (directory.empty() || path == held_) return;
  std::error_code ec;  // what cannot be made is reported by the code that writes there
  detail::make_directories(directory, ec);
  detail::FileDescriptor file{path, O_RDWR | O_CREAT, ec};
  if (!file.is_open()) return;
  if (!try_lock(file, path == refused_ ? std::chrono::milliseconds{} : within)) {
    refused_ = path;
    error = {ps_errc::directory_in_use, who + " in " + directory + holder(file)};
    return;
  }
  sign(file);
  file_ = std::move(file);
  held_ = path;
}

// Returns false if another holder has the lock until the end of the wait.
DISTRIB_DECL auto DirectoryLock::try_lock(const detail::FileDescriptor& file, std::chrono::milliseconds within)
    -> bool {
  constexpr int pause_ms = 20;
  const Instant until = instant_after(std::chrono::steady_clock::now(), within);
  while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
    if (errno == EINTR) continue;
    if (errno != EWOULDBLOCK) return true;  // this file system has no locks
    if (std::chrono::steady_clock::now() >= until) return false;
    ::poll(nullptr, 0, pause_ms);
  }
  return true;
}

DISTRIB_DECL void DirectoryLock::sign(detail::FileDescriptor& file) {
  std::array<char, 64> host{};
  if (::gethostname(host.data(), host.size() - 1) != 0) host = {};
  std::error_code ignored;
  if (::ftruncate(file.get(), 0) == 0)
    file.write(as_bytes("process " + std::to_string(::getpid()) + " on " + host.data()), ignored);
}

DISTRIB_DECL auto DirectoryLock::holder(detail::FileDescriptor& file) -> std::string {
  std::array<std::byte, 128> bytes{};
  std::error_code ec;
  std::string text{as_text({bytes.data(), file.read(bytes, ec)})};
  for (char& c : text)
    if (c < ' ' || c > '~') c = '?';
  return text.empty() ? text : ", held by " + text;
}

}  // namespace v0
}  // namespace distrib
