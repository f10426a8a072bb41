// SPDX-License-Identifier: Apache-2.0
// Part of the optional component distrib::http: not in any facade.
#pragma once

#include <distrib/core/error.hpp>
#include <distrib/core/file_descriptor.hpp>

#include <fcntl.h>
#include <poll.h>
#include <signal.h>
#include <spawn.h>
#include <sys/wait.h>
#include <unistd.h>

#include <array>
#include <cerrno>
#include <chrono>
#include <cstddef>
#include <string>
#include <system_error>
#include <thread>

namespace distrib {
inline namespace v0 {
namespace detail {

/// Starts `command` in a shell, in a process group of its own, with `output` as its standard output and no standard
/// input. Returns the number of the process; 0 on failure, which sets `ec`.
inline auto start_command(const std::string& command, int output, std::error_code& ec) -> ::pid_t {
  ::posix_spawn_file_actions_t actions;
  ::posix_spawnattr_t attributes;
  ::posix_spawn_file_actions_init(&actions);
  ::posix_spawnattr_init(&attributes);
  ::posix_spawn_file_actions_addopen(&actions, 0, "/dev/null", O_RDONLY, 0);
  ::posix_spawn_file_actions_adddup2(&actions, output, 1);
  ::sigset_t none;
  ::sigset_t pipe;
  ::sigemptyset(&none);
  ::sigemptyset(&pipe);
  ::sigaddset(&pipe, SIGPIPE);
  ::posix_spawnattr_setflags(&attributes, POSIX_SPAWN_SETPGROUP | POSIX_SPAWN_SETSIGMASK | POSIX_SPAWN_SETSIGDEF);
  ::posix_spawnattr_setsigmask(&attributes, &none);
  ::posix_spawnattr_setsigdefault(&attributes, &pipe);
  std::string shell = "sh";
  std::string option = "-c";
  std::string script = command;
  std::array<char*, 4> words{shell.data(), option.data(), script.data(), nullptr};
  ::pid_t process = 0;
  const int failed = ::posix_spawn(&process, "/bin/sh", &actions, &attributes, words.data(), environ);
  ::posix_spawn_file_actions_destroy(&actions);
  ::posix_spawnattr_destroy(&attributes);
  if (failed != 0) ec = {failed, std::system_category()};
  return failed == 0 ? process : 0;
}

/// Runs `command` in a shell and returns what it writes to its standard output. If that is more than `most` bytes, or
/// command and output do not end within `limit`, kills the command and all that it has started.
///
/// Errors: `ec` is `std::errc::timed_out`, `file_too_large`, `io_error` (an exit code other than 0, or a signal), or
/// why it cannot be started.
inline auto command_output(const std::string& command, std::size_t most, std::chrono::milliseconds limit,
                           std::error_code& ec) -> std::string {
  using Clock = std::chrono::steady_clock;
  const auto deadline = Clock::now() + limit;
  std::string text;
  text.reserve(most);
  int ends[2];
  if (::pipe2(ends, O_CLOEXEC) != 0) {
    ec = last_os_error();
    return text;
  }
  const ::pid_t process = start_command(command, ends[1], ec);
  ::close(ends[1]);
  std::array<char, 4096> block;
  for (bool open = process != 0; open && !ec;) {
    const auto left = std::chrono::ceil<std::chrono::milliseconds>(deadline - Clock::now());
    ::pollfd ready{ends[0], POLLIN, 0};
    const int found = left.count() <= 0 ? 0 : ::poll(&ready, 1, static_cast<int>(left.count()));
    if (found < 0 && errno == EINTR) continue;
    const ::ssize_t count = found > 0 ? ::read(ends[0], block.data(), block.size()) : 0;
    if (found == 0) ec = std::make_error_code(std::errc::timed_out);
    else if (found < 0 || count < 0) ec = last_os_error();
    else if (count == 0) open = false;
    else if (text.size() + static_cast<std::size_t>(count) > most) ec = std::make_error_code(std::errc::file_too_large);
    else text.append(block.data(), static_cast<std::size_t>(count));
  }
  ::close(ends[0]);
  if (ec && process != 0) ::kill(-process, SIGKILL);
  int status = 0;
  while (process != 0) {
    const ::pid_t ended = ::waitpid(process, &status, ec ? 0 : WNOHANG);
    if (ended > 0 || (ended < 0 && errno != EINTR)) break;
    if (ec || ended < 0) continue;
    std::this_thread::sleep_for(std::chrono::milliseconds{5});
    if (Clock::now() < deadline) continue;
    ec = std::make_error_code(std::errc::timed_out);
    ::kill(-process, SIGKILL);
  }
  if (!ec && status != 0) ec = std::make_error_code(std::errc::io_error);
  return text;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
