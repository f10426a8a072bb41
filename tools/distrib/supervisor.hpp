// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "descriptor.hpp"
#include "launch_core.hpp"
#include "log_lines.hpp"
#include "process.hpp"

#include <sys/types.h>

#include <array>
#include <chrono>
#include <csignal>
#include <cstddef>
#include <string>
#include <string_view>
#include <system_error>
#include <vector>

namespace tools {

/// How to start a task.
struct TaskCommand {
  std::string name;
  std::vector<std::string> arguments;    ///< The path of the program first.
  std::vector<std::string> environment;  ///< "NAME=value".
};

/// Performs what `LaunchCore` decides: starts processes, sends signals, joins what they write into one log on stdout.
/// One loop over poll(2), no thread. To be run by `run_guarded`.
class Supervisor {
 public:
  /// `coloured`: each task's name in a colour of its own.
  Supervisor(std::vector<TaskCommand> commands, LaunchRules rules, bool coloured);

  /// Until nothing runs. Returns the exit code of the whole; 74 when stdout could not be written.
  [[nodiscard]] auto run() -> int;

  /// A line of our own into the log.
  void say(std::string_view text);

  // The actions of the core.
  void operator()(const StartTask& start);
  void operator()(const TerminateTasks&) { signal_tasks(SIGTERM); }
  void operator()(const KillTasks&) { signal_tasks(SIGKILL); }
  void operator()(const Say& words) { say(words.text); }

 private:
  struct Stream {
    Descriptor pipe;
    LogLines lines;
  };
  struct Task {
    TaskCommand command;
    ::pid_t process = -1;           // -1: does not run
    std::array<Stream, 2> streams;  // stdout, stderr
  };

  [[nodiscard]] auto finished() const -> bool;
  void wait();
  [[nodiscard]] auto take_signals() -> bool;
  void reap();
  void signal_tasks(int signal);
  void read(Stream& stream);
  void drain(Task& task);
  void end_stream(Stream& stream);
  void write();
  void flush();

  LaunchCore core_;
  std::vector<Task> tasks_;
  std::vector<std::size_t> not_started_;  // which the system refused to start; the core is told afterwards
  Descriptor signals_;
  std::string prefix_;
  std::string log_;           // to be written to stdout
  std::size_t written_ = 0;   // of the log
  std::error_code log_error_;
  bool have_children_ = false;
  std::chrono::milliseconds grace_;
  bool asked_ = false;        // somebody asked to stop,
  bool at_once_ = false;      // or will not wait
};

}  // namespace tools
