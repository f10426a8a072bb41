// SPDX-License-Identifier: Apache-2.0
#include "process.hpp"

#include <fcntl.h>
#include <sys/prctl.h>
#include <unistd.h>

#include <cerrno>
#include <csignal>
#include <cstdio>
#include <cstring>

namespace tools {

namespace {

/// Returns pointers to texts, followed by a null pointer. They are valid as long as the texts are.
auto pointers_to(const std::vector<std::string>& texts) -> std::vector<char*> {
  std::vector<char*> pointers;
  for (const std::string& text : texts) pointers.push_back(const_cast<char*>(text.c_str()));  // exec only reads them
  pointers.push_back(nullptr);
  return pointers;
}

/// Runs in the child. The parent may have other threads, so nothing here takes memory or a lock. `argv` and `envp`: end
/// with a null pointer. `out` and `err`: the ends of the pipes to which it writes.
[[noreturn]] void become(char* const* argv, char* const* envp, ::pid_t parent, int out, int err) {
  ::setpgid(0, 0);  // Ctrl-C on the terminal must not reach it
  ::prctl(PR_SET_PDEATHSIG, SIGKILL);
  if (::getppid() != parent) ::_exit(1);  // the parent has died before prctl
  for (const int signal : {SIGINT, SIGTERM, SIGQUIT, SIGCHLD, SIGPIPE}) ::signal(signal, SIG_DFL);
  ::sigset_t none{};
  ::sigemptyset(&none);
  ::sigprocmask(SIG_SETMASK, &none, nullptr);
  const int in = ::open("/dev/null", O_RDONLY | O_CLOEXEC);
  ::dup2(in, STDIN_FILENO);
  ::dup2(out, STDOUT_FILENO);
  ::dup2(err, STDERR_FILENO);
  ::execvpe(argv[0], argv, envp);
  ::dprintf(STDERR_FILENO, "cannot run %s: %s\n", argv[0], ::strerrordesc_np(errno));
  ::_exit(126);
}

}  // namespace

auto start_process(const std::vector<std::string>& arguments, const std::vector<std::string>& environment,
                   std::error_code& ec) -> Process {
  int out[2] = {-1, -1};
  int err[2] = {-1, -1};
  ec.clear();
  if (::pipe2(out, O_CLOEXEC) != 0) ec = {errno, std::generic_category()};
  if (!ec && ::pipe2(err, O_CLOEXEC) != 0) ec = {errno, std::generic_category()};
  Process process{-1, Descriptor{out[0]}, Descriptor{err[0]}};
  const Descriptor write_out{out[1]};
  const Descriptor write_err{err[1]};
  if (ec) return process;
  ::fcntl(out[0], F_SETFL, O_NONBLOCK);
  ::fcntl(err[0], F_SETFL, O_NONBLOCK);

  const auto argv = pointers_to(arguments);
  const auto envp = pointers_to(environment);
  const ::pid_t parent = ::getpid();
  process.id = ::fork();
  if (process.id < 0) ec = {errno, std::generic_category()};
  if (process.id == 0) become(argv.data(), envp.data(), parent, out[1], err[1]);
  if (process.id > 0) ::setpgid(process.id, process.id);  // in both processes: the group must exist before any signal
  return process;
}

}  // namespace tools
