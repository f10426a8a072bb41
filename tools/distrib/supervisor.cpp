// SPDX-License-Identifier: Apache-2.0
#include "supervisor.hpp"

#include "guard.hpp"

#include <poll.h>
#include <sys/ioctl.h>
#include <sys/signalfd.h>
#include <sys/wait.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <climits>
#include <csignal>
#include <cstdint>
#include <cstdio>
#include <optional>
#include <utility>

namespace tools {

namespace {

constexpr std::size_t most_waiting = 256 << 10;  // bytes of log for a slow reader; then tasks wait, as on any full pipe
constexpr int exit_output_failed = 74;  // EX_IOERR
constexpr int exit_no_process = 71;  // EX_OSERR

auto now() -> Instant {
  return std::chrono::time_point_cast<std::chrono::milliseconds>(std::chrono::steady_clock::now());
}

/// Returns the time until then as a timeout for poll(2).
auto milliseconds_until(Instant time) -> int {
  return static_cast<int>(std::clamp<std::int64_t>((time - now()).count(), 0, INT_MAX));
}

auto names_of(const std::vector<TaskCommand>& commands) -> std::vector<std::string> {
  std::vector<std::string> names;
  for (const TaskCommand& command : commands) names.push_back(command.name);
  return names;
}

}  // namespace

Supervisor::Supervisor(std::vector<TaskCommand> commands, LaunchRules rules, bool coloured, JobPage* page)
    : core_{names_of(commands), rules},
      page_{page},
      prefix_{coloured ? "\x1b[1mlaunch | \x1b[0m" : "launch | "},
      grace_{rules.grace} {
  for (TaskCommand& command : commands) {
    const LogLines lines = task_lines(command.name, tasks_.size(), coloured);
    tasks_.push_back({std::move(command), -1, {Stream{{}, lines}, Stream{{}, lines}}});
  }
  ::sigset_t wanted{};
  ::sigemptyset(&wanted);
  for (const int signal : {SIGTERM, SIGUSR1, SIGUSR2, SIGCHLD}) ::sigaddset(&wanted, signal);
  signals_ = Descriptor{::signalfd(-1, &wanted, SFD_NONBLOCK | SFD_CLOEXEC)};
  if (!signals_.is_open()) throw std::system_error{errno, std::generic_category(), "signalfd"};
  ::signal(SIGPIPE, SIG_IGN);  // a closed stdout is then an error like any other
}

auto Supervisor::run() -> int {
  core_.begin(*this);
  while (!finished()) {
    wait();
    for (const std::size_t task : std::exchange(not_started_, {}))
      core_.ended(task, {.code = exit_no_process, .signal = 0}, now(), *this);
    core_.tick(now(), *this);
  }
  end_children();
  for (Task& task : tasks_) {
    drain(task);
    for (Stream& stream : task.streams) end_stream(stream);
  }
  say(core_.summary());
  flush();
  if (!log_error_) return core_.exit_code();
  std::fprintf(stderr, "error: stdout: %s\n", log_error_.message().c_str());
  return exit_output_failed;
}

// Each change of a task's state comes with a line, so the page is told with the lines.
void Supervisor::say(std::string_view text) {
  log_.append(prefix_).append(text).append("\n");
  if (page_ != nullptr) page_->tell(std::string{text}, processes());
}

auto Supervisor::processes() const -> std::vector<distrib::StatusProcess> {
  std::vector<distrib::StatusProcess> all;
  for (std::size_t i = 0; i < tasks_.size(); ++i) {
    const Task& task = tasks_[i];
    all.push_back({task.command.name, task.process > 0 ? "process " + std::to_string(task.process) : core_.state_of(i),
                   core_.restarts_of(i)});
  }
  return all;
}

void Supervisor::operator()(const StartTask& start) {
  Task& task = tasks_[start.task];
  drain(task);  // the rest of the output of its last process
  for (Stream& stream : task.streams) end_stream(stream);
  std::error_code ec;
  Process process = start_process(task.command.arguments, task.command.environment, ec);
  if (ec) {
    say("cannot start " + task.command.name + ": " + ec.message());
    not_started_.push_back(start.task);
    return;
  }
  task.process = process.id;
  task.streams[0].pipe = std::move(process.out);
  task.streams[1].pipe = std::move(process.err);
  have_children_ = true;
  say(task.command.name + " is process " + std::to_string(process.id));
}

// True if everything has ended. Processes that a task has left may still be busy with their own end: if the tasks were
// asked to end, they have the grace time, too.
auto Supervisor::finished() const -> bool {
  return core_.all_ended() && not_started_.empty() && (!core_.stopping() || core_.killing() || !have_children_);
}

void Supervisor::wait() {
  std::vector<::pollfd> polled{{signals_.get(), POLLIN, 0}, {log_.empty() ? -1 : STDOUT_FILENO, POLLOUT, 0}};
  const bool room = log_.size() - written_ < most_waiting;
  for (const Task& task : tasks_)  // poll(2) ignores negative ones
    for (const Stream& stream : task.streams) polled.push_back({room ? stream.pipe.get() : -1, POLLIN, 0});

  int timeout = not_started_.empty() ? -1 : 0;
  if (const std::optional<Instant> wake = core_.wake(); wake && timeout < 0) timeout = milliseconds_until(*wake);
  if (::poll(polled.data(), polled.size(), timeout) < 0) return;

  auto next = polled.begin();
  if ((next++)->revents != 0) {
    const bool child = take_signals();
    for (; more_ > 0; --more_) core_.more(*this);
    if (asked_) core_.stop(now(), *this);
    if (at_once_ && !core_.killing()) core_.kill(*this);
    if (child) reap();
  }
  if ((next++)->revents != 0) write();
  for (Task& task : tasks_)
    for (Stream& stream : task.streams)
      if (const ::pollfd& was = *next++; was.revents != 0 && was.fd == stream.pipe.get()) read(stream);
}

// Reads the signals that came. Returns true if a child has ended.
auto Supervisor::take_signals() -> bool {
  ::signalfd_siginfo info{};
  bool child = false;
  while (::read(signals_.get(), &info, sizeof info) == sizeof info) {
    child = child || info.ssi_signo == SIGCHLD;
    asked_ = asked_ || info.ssi_signo == SIGTERM;
    at_once_ = at_once_ || info.ssi_signo == SIGUSR1;
    if (info.ssi_signo == SIGUSR2) ++more_;
  }
  return child;
}

void Supervisor::reap() {
  while (true) {
    ::siginfo_t info{};
    have_children_ = ::waitid(P_ALL, 0, &info, WEXITED | WNOHANG | WNOWAIT) == 0;
    if (!have_children_ || info.si_pid == 0) return;
    const auto task =
        std::find_if(tasks_.begin(), tasks_.end(), [&](const Task& one) { return one.process == info.si_pid; });
    // Kill what it has left behind. The task was not waited for yet, so its number cannot belong to another group.
    if (task != tasks_.end() && !core_.stopping()) ::kill(-info.si_pid, SIGKILL);
    int status = 0;
    ::waitpid(info.si_pid, &status, 0);
    if (task == tasks_.end()) continue;  // not a task, but a process that a task has left behind
    task->process = -1;
    drain(*task);
    core_.ended(static_cast<std::size_t>(task - tasks_.begin()), ending_of(status), now(), *this);
  }
}

void Supervisor::signal_tasks(int signal) {
  for (const Task& task : tasks_)
    if (task.process > 0) ::kill(-task.process, signal);
}

void Supervisor::read(Stream& stream) {
  std::array<char, 64 << 10> bytes;
  const ::ssize_t count = ::read(stream.pipe.get(), bytes.data(), bytes.size());
  if (count > 0) stream.lines.append({bytes.data(), static_cast<std::size_t>(count)}, log_);
  else if (count == 0 || (errno != EAGAIN && errno != EINTR)) end_stream(stream);
}

// Reads what is in the task's pipes now, and little more: another process may still be writing to them.
void Supervisor::drain(Task& task) {
  for (Stream& stream : task.streams) {
    int waiting = 0;
    if (!stream.pipe.is_open() || ::ioctl(stream.pipe.get(), FIONREAD, &waiting) != 0) continue;
    std::string bytes(static_cast<std::size_t>(waiting), '\0');
    const ::ssize_t count = ::read(stream.pipe.get(), bytes.data(), bytes.size());
    if (count > 0) stream.lines.append({bytes.data(), static_cast<std::size_t>(count)}, log_);
    read(stream);  // finds the end of the stream, if it is reached
  }
}

void Supervisor::end_stream(Stream& stream) {
  stream.lines.finish(log_);
  stream.pipe.close();
}

// Writes at most what a pipe accepts without blocking when it is writable, so that signals are handled while the reader
// is slow.
void Supervisor::write() {
  const std::size_t size = std::min<std::size_t>(log_.size() - written_, PIPE_BUF);
  const ::ssize_t count = log_error_ ? 0 : ::write(STDOUT_FILENO, log_.data() + written_, size);
  if (count < 0 && (errno == EINTR || errno == EAGAIN)) return;
  if (count < 0) {
    log_error_ = {errno, std::generic_category()};
    core_.stop(now(), *this);
  }
  written_ = log_error_ ? log_.size() : written_ + static_cast<std::size_t>(count);
  if (written_ < log_.size() && written_ < most_waiting) return;
  log_.erase(0, written_);
  written_ = 0;
}

// Writes the rest of the log. A reader that pauses may take any time, until the user asks to stop.
void Supervisor::flush() {
  std::optional<Instant> end;
  while (!log_.empty()) {
    if (asked_ && !end) end = now() + grace_;
    ::pollfd polled[] = {{STDOUT_FILENO, POLLOUT, 0}, {signals_.get(), POLLIN, 0}};
    if (::poll(polled, 2, at_once_ ? 0 : end ? milliseconds_until(*end) : -1) == 0) return;
    if (polled[0].revents != 0) write();
    static_cast<void>(take_signals());
  }
}

}  // namespace tools
