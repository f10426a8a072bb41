// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/checkpoint/file_shell.hpp>
#include <distrib/cluster/task_id.hpp>
#include <distrib/core/bytes.hpp>
#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>
#include <distrib/core/paths.hpp>
#include <distrib/ps/job/error.hpp>

#include <fcntl.h>
#include <poll.h>
#include <sys/file.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <string>
#include <string_view>
#include <system_error>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

/// That one process of a ps task at a time has the directory of its cuts: a lock on `DIRECTORY/.ps-INDEX.lock`, which
/// says whose it is. The system takes it away when the process ends, however it ends. Best effort: where the file can't
/// be made or its file system has no locks, nobody is refused. Whoever only reads needs none.
///
/// Threads: one at a time.
class TaskLock {
 public:
  /// Makes the directory and holds its lock, in place of that of another one; waits `within` for a process that is
  /// ending, the first time. `error`: `directory_in_use`, with task, directory and process. Empty directory: nothing.
  template <class = void>
  void hold(const std::string& directory, std::uint32_t task, std::chrono::milliseconds within, Error& error) {
    error = {};
    if (directory.empty() || directory == held_) return;
    Error unwritable;  // whoever writes there will say so
    make_directories(directory, unwritable);
    std::error_code ec;
    FileDescriptor file{join_path(directory, ".ps-" + std::to_string(task) + ".lock"), O_RDWR | O_CREAT, ec};
    if (file.is_open() && !try_lock(file, directory == refused_ ? std::chrono::milliseconds{} : within)) {
      refused_ = directory;
      error = {ps_errc::directory_in_use, to_string(TaskId{"ps", task}) + " in " + directory + holder(file)};
      return;
    }
    if (file.is_open()) sign(file);
    file_ = std::move(file);
    held_ = directory;
  }

 private:
  // False: somebody else has it to the last.
  static auto try_lock(const FileDescriptor& file, std::chrono::milliseconds within) -> bool {
    constexpr int pause_ms = 20;
    const auto until = std::chrono::steady_clock::now() + within;
    while (::flock(file.get(), LOCK_EX | LOCK_NB) != 0) {
      if (errno == EINTR) continue;
      if (errno != EWOULDBLOCK) return true;  // no locks here
      if (std::chrono::steady_clock::now() >= until) return false;
      ::poll(nullptr, 0, pause_ms);
    }
    return true;
  }

  // Where there is no room for it nobody is named.
  static void sign(FileDescriptor& file) {
    std::array<char, 64> host{};
    if (::gethostname(host.data(), host.size() - 1) != 0) host = {};
    std::error_code ignored;
    if (::ftruncate(file.get(), 0) == 0)
      file.write(as_bytes("process " + std::to_string(::getpid()) + " on " + host.data()), ignored);
  }

  static auto holder(FileDescriptor& file) -> std::string {
    std::array<std::byte, 128> bytes{};
    std::error_code ec;
    std::string text{as_text({bytes.data(), file.read(bytes, ec)})};
    for (char& c : text)
      if (c < ' ' || c > '~') c = '?';
    return text.empty() ? text : ", held by " + text;
  }

  FileDescriptor file_;
  std::string held_;
  std::string refused_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
