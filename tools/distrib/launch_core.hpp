// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "exit_code.hpp"

#include <algorithm>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>
#include <utility>
#include <vector>

namespace tools {

/// Time as the core sees it: it comes with each event, and is only compared and added to.
using Instant = std::chrono::time_point<std::chrono::steady_clock, std::chrono::milliseconds>;

struct LaunchRules {
  bool restart = false;                     ///< Start a task again if it ended with the verdict `retry`.
  std::uint32_t max_restarts = 10;          ///< Most restarts of each task, over the whole job.
  std::chrono::milliseconds grace{10'000};  ///< Time between asking the tasks to end and killing them.
  /// The tasks from this number on, and how many: workers of dealt ranks. If one is lost, the others serve its ranks.
  std::size_t first_dealt = 0;
  std::size_t dealt = 0;
  std::size_t idle = 0;  ///< So many of these tasks, the last ones, are started only when `more` asks.
};

// Actions: what the shell must do after an event, in this order. The core calls `out(action)` for each. The shell must
// not call the core inside that call.

/// Start this task, for the first time or again.
struct StartTask {
  std::size_t task = 0;
};
/// Ask every running task to end: SIGTERM.
struct TerminateTasks {};
/// Kill everything that runs: SIGKILL.
struct KillTasks {};
/// Print this for the user.
struct Say {
  std::string text;
};

/// Decides which tasks of a local cluster run: which task is started again and when, when all tasks must end, and what
/// the exit code of the whole is. It reads no clock and starts no process.
class LaunchCore {
 public:
  /// `tasks`: names of the tasks. Events refer to them by their positions.
  LaunchCore(std::vector<std::string> tasks, LaunchRules rules) : rules_{rules} {
    for (std::string& name : tasks) tasks_.push_back({.name = std::move(name)});
  }

  /// First event: starts all tasks.
  template <class Out>
  void begin(Out&& out) {
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      if (is_idle(i)) tasks_[i].state = State::idle;
      else start(i, out);
  }

  /// Event: one more worker of dealt ranks shall serve. Starts the first one that does not run: it was not started yet,
  /// or was lost.
  template <class Out>
  void more(Out&& out) {
    if (stopping()) return;
    const std::size_t end = rules_.first_dealt + rules_.dealt;
    for (std::size_t i = rules_.first_dealt; i < end; ++i) {
      const bool is_lost = tasks_[i].state == State::ended && verdict_of(tasks_[i].ending) == Verdict::retry;
      if (tasks_[i].state == State::idle || is_lost) return start(i, out);
    }
    out(Say{rules_.dealt == 0 ? "asked for one more worker, but without --ranks the workers are fixed"
                              : "asked for one more worker, but all " + std::to_string(rules_.dealt) + " are there"});
  }

  /// Event: a task that was started has ended. Starts it again after a pause, or, if it failed for another reason or
  /// too often, asks all tasks to end.
  template <class Out>
  void ended(std::size_t number, const Ending& ending, Instant now, Out&& out) {
    Task& task = tasks_[number];
    task.state = State::ended;
    task.ending = ending;
    const std::string what = task.name + " " + to_string(ending);
    const Verdict verdict = verdict_of(ending);
    if (stopping() || verdict == Verdict::done) {
      out(Say{what});
      if (verdict != Verdict::done) decide(number);
    } else if (verdict == Verdict::retry && rules_.restart && task.restarts < rules_.max_restarts) {
      task.state = State::waiting;
      const auto pause = back_off(task.restarts++);
      task.due = now + pause;
      out(Say{what + ": starting it again in " + seconds(pause) + " (" + std::to_string(task.restarts) +
              " of at most " + std::to_string(rules_.max_restarts) + ")"});
    } else if (verdict == Verdict::retry && others_serve(number)) {
      out(Say{what + ": the other workers serve its ranks"});
    } else {
      const bool gave_up = verdict == Verdict::retry && rules_.restart;
      out(Say{what + (gave_up ? " after " + std::to_string(task.restarts) + " restarts" : "") + ": stopping the job"});
      decide(number);
      end_all(now, out);
    }
  }

  /// Event: the job is asked to end. Has no effect if it was asked before.
  template <class Out>
  void stop(Instant now, Out&& out) {
    if (stopping()) return;
    out(Say{"asked to stop: the tasks have " + seconds(rules_.grace) + " to end, then they are killed"});
    end_all(now, out);
  }

  /// Event: everything must end at once. Kills all tasks without grace time; tasks that wait for a restart are not
  /// started.
  template <class Out>
  void kill(Out&& out) {
    deadline_ = Instant{};
    cancel_restarts();
    kill_all(out);
  }

  /// Event: time has passed. Does what is due by now.
  template <class Out>
  void tick(Instant now, Out&& out) {
    if (stopping() && !killing_ && now >= *deadline_) {
      std::string late;
      for (const Task& task : tasks_)
        if (task.state == State::running) late += " " + task.name;
      out(Say{"after " + seconds(rules_.grace) + (late.empty() ? " processes that the tasks had started" : late) +
              " still ran: killed"});
      kill_all(out);
    }
    for (std::size_t i = 0; i < tasks_.size(); ++i)
      if (tasks_[i].state == State::waiting && now >= tasks_[i].due) start(i, out);
  }

  /// Returns when to call `tick` if no other event comes before; empty: nothing is due.
  [[nodiscard]] auto wake() const -> std::optional<Instant> {
    std::optional<Instant> first;
    if (stopping() && !killing_) first = deadline_;
    for (const Task& task : tasks_)
      if (task.state == State::waiting && (!first || task.due < *first)) first = task.due;
    return first;
  }

  /// True if no task runs and none will be started.
  [[nodiscard]] auto all_ended() const -> bool {
    return std::all_of(tasks_.begin(), tasks_.end(),
                       [](const Task& task) { return task.state == State::ended || task.state == State::idle; });
  }
  /// True if all tasks were asked to end.
  [[nodiscard]] auto stopping() const -> bool { return deadline_.has_value(); }
  /// True if all tasks were killed.
  [[nodiscard]] auto killing() const -> bool { return killing_; }

  /// Returns the state of a task, for the user: "runs", "starts again", "ended with code 0".
  [[nodiscard]] auto state_of(std::size_t number) const -> std::string {
    const Task& task = tasks_[number];
    if (task.state == State::idle) return "not started";
    if (task.state == State::ended) return to_string(task.ending);
    return task.state == State::running ? "runs" : "starts again";
  }
  /// Returns how often a task was started again.
  [[nodiscard]] auto restarts_of(std::size_t number) const -> std::uint32_t { return tasks_[number].restarts; }

  /// Returns the exit code, once all tasks have ended: 0 if each of them ended with 0, otherwise the code of the first
  /// task that failed and was not started again.
  [[nodiscard]] auto exit_code() const -> int { return decider_ ? tools::exit_code(tasks_[*decider_].ending) : 0; }

  /// Returns `exit_code` in words: which task determined it, and how.
  [[nodiscard]] auto summary() const -> std::string {
    if (!decider_) return "exit code 0: all " + std::to_string(tasks_.size()) + " tasks are done";
    const Task& task = tasks_[*decider_];
    return "exit code " + std::to_string(exit_code()) + ": " + task.name + " " + to_string(task.ending);
  }

 private:
  enum class State { running, waiting, ended, idle };
  struct Task {
    std::string name;
    State state = State::ended;
    Ending ending{};
    std::uint32_t restarts = 0;
    Instant due{};
  };

  template <class Out>
  void start(std::size_t number, Out& out) {
    tasks_[number].state = State::running;
    out(StartTask{number});
  }

  /// True if this task serves dealt ranks, and another one that does runs, will run, or has done the job.
  [[nodiscard]] auto others_serve(std::size_t number) const -> bool {
    const std::size_t end = rules_.first_dealt + rules_.dealt;
    if (number < rules_.first_dealt || number >= end) return false;
    for (std::size_t i = rules_.first_dealt; i < end; ++i) {
      const Task& task = tasks_[i];
      if (task.state == State::running || task.state == State::waiting) return true;
      if (task.state == State::ended && verdict_of(task.ending) == Verdict::done) return true;
    }
    return false;
  }

  [[nodiscard]] auto is_idle(std::size_t number) const -> bool {
    const std::size_t end = rules_.first_dealt + rules_.dealt;
    return number < end && number + rules_.idle >= end;
  }

  void decide(std::size_t number) {
    if (!decider_) decider_ = number;
  }

  template <class Out>
  void end_all(Instant now, Out& out) {
    deadline_ = now + rules_.grace;
    cancel_restarts();
    out(TerminateTasks{});
  }

  template <class Out>
  void kill_all(Out& out) {
    killing_ = true;
    out(KillTasks{});
  }

  /// Tasks that wait for a restart keep the ending that they have.
  void cancel_restarts() {
    for (std::size_t i = 0; i < tasks_.size(); ++i) {
      if (tasks_[i].state != State::waiting) continue;
      tasks_[i].state = State::ended;
      decide(i);
    }
  }

  /// Pause before a restart: 0.1 s, doubled with each restart, at most 5 s.
  static auto back_off(std::uint32_t restarts) -> std::chrono::milliseconds {
    return std::min(std::chrono::milliseconds{100 << std::min(restarts, 6U)}, std::chrono::milliseconds{5'000});
  }

  /// "0.1 s".
  static auto seconds(std::chrono::milliseconds time) -> std::string {
    return std::to_string(time.count() / 1000) + "." + std::to_string(time.count() / 100 % 10) + " s";
  }

  LaunchRules rules_;
  std::vector<Task> tasks_;
  std::optional<std::size_t> decider_;
  std::optional<Instant> deadline_;  // end of the grace time; set when all tasks were asked to end
  bool killing_ = false;
};

}  // namespace tools
