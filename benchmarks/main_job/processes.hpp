// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <sys/prctl.h>
#include <sys/resource.h>
#include <sys/time.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <chrono>
#include <csignal>
#include <cstdio>
#include <exception>
#include <functional>
#include <set>
#include <system_error>
#include <vector>

/// The cost of some processes together.
struct Cost {
  double seconds = 0;         ///< Time from the first start to the last end.
  double user_seconds = 0;    ///< CPU time in user mode, summed over the processes.
  double system_seconds = 0;  ///< CPU time in the kernel, summed over the processes.
  bool complete = true;       ///< True if every process ended with exit code 0.
};

/// Prints the cost as a line of JSON. Returns the exit code for this process: 0, or 70 (and prints nothing) if a
/// process has failed.
inline auto print(const Cost& cost) -> int {
  if (!cost.complete) return 70;
  std::printf("{\"cpu_seconds\":%.3f,\"user_seconds\":%.3f,\"system_seconds\":%.3f,\"seconds\":%.3f}\n",
              cost.user_seconds + cost.system_seconds, cost.user_seconds, cost.system_seconds, cost.seconds);
  return 0;
}

/// Seconds after which SIGALRM ends a process of `run_processes`.
inline constexpr unsigned process_deadline_seconds = 120;

/// Runs each function in its own process and waits until all have ended. If one fails, the others are killed; no
/// process outlives the caller. An exception of a function is printed to stderr and makes its process fail.
inline auto run_processes(const std::vector<std::function<void()>>& works) -> Cost {
  const auto began = std::chrono::steady_clock::now();
  Cost cost;
  std::set<::pid_t> running;
  for (const auto& work : works) {
    const ::pid_t pid = ::fork();
    if (pid < 0) {
      const int reason = errno;
      for (const ::pid_t started : running) ::kill(started, SIGKILL);
      throw std::system_error{reason, std::generic_category(), "fork"};
    }
    if (pid > 0) {
      running.insert(pid);
      continue;
    }
    ::prctl(PR_SET_PDEATHSIG, SIGKILL);
    ::alarm(process_deadline_seconds);
    try {
      work();
      ::_exit(0);
    } catch (const std::exception& error) {
      std::fprintf(stderr, "error: %s\n", error.what());
      ::_exit(70);
    }
  }
  while (!running.empty()) {
    int status = 0;
    ::rusage usage{};
    const ::pid_t pid = ::wait4(-1, &status, 0, &usage);
    if (pid < 0) throw std::system_error{errno, std::generic_category(), "wait4"};
    running.erase(pid);
    const auto seconds = [](const ::timeval& t) {
      return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
    };
    cost.user_seconds += seconds(usage.ru_utime);
    cost.system_seconds += seconds(usage.ru_stime);
    if (status == 0) continue;
    if (cost.complete && WIFSIGNALED(status))
      std::fprintf(stderr, "error: a process was killed by signal %d\n", WTERMSIG(status));
    cost.complete = false;
    for (const ::pid_t other : running) ::kill(other, SIGKILL);
  }
  cost.seconds = std::chrono::duration<double>(std::chrono::steady_clock::now() - began).count();
  return cost;
}
