// SPDX-License-Identifier: Apache-2.0
#include "guard.hpp"

#include <sys/prctl.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <exception>
#include <fstream>
#include <string>
#include <system_error>

namespace tools {

namespace {

/// Runs in the child: does `work`, then ends every process that it has left.
auto work_and_clean_up(const std::function<int()>& work, ::pid_t parent) -> int {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  ::prctl(PR_SET_PDEATHSIG, SIGUSR1);
  if (::getppid() != parent) return 1;  // the parent died before this process could watch it
  int code = 70;
  try {
    code = work();
  } catch (const std::exception& error) {
    std::fprintf(stderr, "error: %s\n", error.what());
  }
  end_children();
  return code;
}

/// Runs in the parent: passes signals on until the child has ended. Returns the child's wait status.
auto pass_signals_on(const ::sigset_t& signals, ::pid_t child) -> int {
  int interrupts = 0;
  while (true) {
    const int signal = ::sigwaitinfo(&signals, nullptr);
    if (signal == SIGCHLD) {
      int status = 0;
      if (::waitpid(child, &status, WNOHANG) == child) return status;
    } else if (signal == SIGQUIT || (signal == SIGINT && ++interrupts > 1)) {
      ::kill(child, SIGUSR1);
    } else if (signal == SIGUSR2) {
      ::kill(child, SIGUSR2);
    } else if (signal > 0) {
      ::kill(child, SIGTERM);
    }
  }
}

}  // namespace

auto run_guarded(const std::function<int()>& work) -> int {
  ::prctl(PR_SET_CHILD_SUBREAPER, 1);
  struct sigaction hangup{};
  ::sigaction(SIGHUP, nullptr, &hangup);
  ::signal(SIGCHLD, SIG_DFL);  // if it were ignored, the system would not keep the status of children
  ::sigset_t signals{};
  ::sigemptyset(&signals);
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGUSR2, SIGCHLD}) ::sigaddset(&signals, signal);
  if (hangup.sa_handler != SIG_IGN) ::sigaddset(&signals, SIGHUP);  // it is ignored under nohup
  ::sigset_t blocked = signals;
  ::sigaddset(&blocked, SIGUSR1);  // the child must not get it before it waits for it
  ::sigprocmask(SIG_BLOCK, &blocked, nullptr);

  const ::pid_t parent = ::getpid();
  const ::pid_t child = ::fork();
  if (child < 0) throw std::system_error{errno, std::generic_category(), "fork"};
  if (child == 0) ::_exit(work_and_clean_up(work, parent));

  const int status = pass_signals_on(signals, child);
  end_children();
  if (WIFEXITED(status)) return WEXITSTATUS(status);
  std::fprintf(stderr,
               "error: the supervisor of distrib launch was killed by signal %d; all processes that it had started "
               "were ended too\n",
               WTERMSIG(status));
  return 128 + WTERMSIG(status);
}

void end_children() {
  const std::string self = std::to_string(::getpid());
  while (true) {
    std::ifstream children{"/proc/self/task/" + self + "/children"};
    if (!children) return;
    int killed = 0;
    for (::pid_t child = 0; children >> child; ++killed) ::kill(child, SIGKILL);
    // The children of a process that has died become children of this one, so look again.
    if (::waitpid(-1, nullptr, killed > 0 ? 0 : WNOHANG) < 0 && errno == ECHILD) return;
  }
}

}  // namespace tools
