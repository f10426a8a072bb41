// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "descriptor.hpp"
#include "job_page.hpp"
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

/// Performs the decisions of `LaunchCore`: starts processes, sends signals, and joins their output into one log on
/// stdout. It is one loop over poll(2), on one thread. To be run inside `run_guarded`.
class Supervisor {
 public:
  /// `coloured`: the name of each task has a colour of its own. `page`: is told what happens; null: there is none.
  Supervisor(std::vector<TaskCommand> commands, LaunchRules rules, bool coloured, JobPage* page);

  /// Runs until all processes have ended. Returns the exit code of the whole; 74 if stdout could not be written.
  [[nodiscard]] auto run() -> int;

  /// Adds a line of the launcher itself to the log.
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
    ::pid_t process = -1;           // -1: not running
    std::array<Stream, 2> streams;  // stdout, stderr
  };

  [[nodiscard]] auto processes() const -> std::vector<distrib::StatusProcess>;
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
  JobPage* page_;
  std::vector<Task> tasks_;
  std::vector<std::size_t> not_started_;  // tasks that the system did not start; reported to the core later
  Descriptor signals_;
  std::string prefix_;
  std::string log_;          // output that is not written to stdout yet
  std::size_t written_ = 0;  // bytes of `log_` that are written
  std::error_code log_error_;
  bool have_children_ = false;
  std::chrono::milliseconds grace_;
  bool asked_ = false;    // the user has asked to stop
  int more_ = 0;          // how many more workers the user has asked for
  bool at_once_ = false;  // the user does not want to wait
};

}  // namespace tools
