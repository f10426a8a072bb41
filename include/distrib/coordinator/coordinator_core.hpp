// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/coordinator/coordinator_options.hpp>
#include <distrib/coordinator/error.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/core/error.hpp>
#include <distrib/net/instant.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

// What the shell of a coordinator must do after an event, in the order of the calls.

/// Run `closure` on `worker`. `run` identifies this run: pass it to `CoordinatorCore::ended`.
struct StartRun {
  std::uint32_t worker = 0;
  std::uint64_t run = 0;
  std::uint64_t closure = 0;
};
/// Build resource `resource` on `worker`, by a run of its function.
struct BuildResource {
  std::uint32_t worker = 0;
  std::uint64_t run = 0;
  std::uint64_t resource = 0;
};
/// Ask the worker to end this run soon.
struct StopRun {
  std::uint32_t worker = 0;
  std::uint64_t run = 0;
};
/// Close the connection to the worker, which does not end a run, and connect again.
struct CloseWorker {
  std::uint32_t worker = 0;
};
/// The closure is over. No error: its value is that of run `run`.
struct ClosureDone {
  std::uint64_t closure = 0;
  std::uint64_t run = 0;
  Error error = {};
};

/// How a run ended, as its worker says.
struct RunEnd {
  Error error = {};  ///< No error: it has a value.
  /// The parameter servers that the function could not reach; then it is run again. Ascending.
  std::vector<std::uint32_t> unreachable_ps = {};
};

/// Decides which worker runs which closure, and what follows when a function fails, or a worker or a parameter server
/// is lost. A closure is a function with its arguments, scheduled once; a run is one execution of it; a resource is a
/// per-worker value, which is built by a run on each worker before closures run there.
///
/// Events in, actions out; no clock, no I/O, no thread. Each action is one call `out(action)`, in the order to be
/// performed in; `out` must not call the core. Every closure ends by exactly one `ClosureDone`.
///
/// Threads: one at a time.
class CoordinatorCore {
 public:
  /// `workers`, `ps`: how many there are of each.
  DISTRIB_DECL CoordinatorCore(const CoordinatorOptions& options, std::uint32_t workers, std::uint32_t ps, Instant now);

  /// True if no further closure may be scheduled now.
  [[nodiscard]] auto full() const noexcept -> bool {
    return queue_.size() >= std::max<std::size_t>(options_.most_queued, 1);
  }
  /// True if no closure waits or runs.
  [[nodiscard]] auto idle() const noexcept -> bool { return queue_.empty() && closures_running() == 0; }
  [[nodiscard]] auto queued() const noexcept -> std::size_t { return queue_.size(); }
  /// Returns the error to be reported; empty if there is none. While there is one, no run begins.
  [[nodiscard]] auto error() const noexcept -> const Error& { return error_; }
  [[nodiscard]] auto is_up(std::uint32_t worker) const noexcept -> bool { return workers_[worker].up; }

  /// Schedules a closure of this function, whose name must live as long as the core. Not if `full()`, and not while
  /// there is an error.
  void schedule(std::uint64_t closure, std::string_view function, Instant now, auto& out) {
    queue_.push_back({closure, function});
    dispatch(now, out);
  }

  /// From now on this resource is built on every worker, after those that were added before.
  void add_resource(std::uint64_t resource, std::string_view function) { resources_.push_back({resource, function}); }

  /// A worker is connected. `process`: a number that no other process of a worker has.
  void connected(std::uint32_t index, std::uint64_t process, Instant now, auto& out) {
    lost(index, now, out);
    Worker& worker = workers_[index];
    if (worker.process != process) worker.built = 0;
    worker.process = process;
    worker.up = true;
    was_up_ = true;
    dispatch(now, out);
  }

  /// The connection to a worker is lost. Its closure waits again, or is cancelled if there is an error.
  void lost(std::uint32_t index, Instant now, auto& out) {
    Worker& worker = workers_[index];
    if (std::exchange(worker.up, false) && workers_up() == 0) none_since_ = now;
    if (const std::optional<Run> run = std::exchange(worker.run, std::nullopt)) again(*run, out);
    dispatch(now, out);
  }

  /// True if the worker runs this: `StartRun` or `BuildResource` is not out of date.
  [[nodiscard]] auto is_running(std::uint32_t worker, std::uint64_t run) const -> bool {
    return workers_[worker].run && workers_[worker].run->number == run;
  }

  /// A worker cannot be used, because of a mistake that another try would not remove.
  void refused(std::uint32_t index, Error why) {
    why.where = task(index) + (why.where.empty() ? "" : ": " + why.where);
    fail(std::move(why));
  }

  /// A run has ended. Ignored if the worker does not run it any more.
  void ended(std::uint32_t index, std::uint64_t number, RunEnd end, Instant now, auto& out) {
    Worker& worker = workers_[index];
    if (!worker.run || worker.run->number != number) return;
    const Run run = *std::exchange(worker.run, std::nullopt);
    if (!end.unreachable_ps.empty()) report_ps(run, std::move(end), out);
    else if (!end.error) built_or_done(worker, run, out);
    else if (run.stop_by) done(run, coordinator_errc::cancelled, out);
    else fail(run, {end.error.code, place(run, index, end.error.where)}, out);
    dispatch(now, out);
  }

  /// Cancels what waits and stops what runs, because there is an error. Nothing runs any more when `stopped()`.
  void stop(Instant now, auto& out) {
    for (const Closure& closure : std::exchange(queue_, {}))
      out(ClosureDone{closure.number, 0, {coordinator_errc::cancelled, std::string{closure.function}}});
    for (std::uint32_t index = 0; index < workers_.size(); ++index) {
      std::optional<Run>& run = workers_[index].run;
      if (!run || run->stop_by) continue;
      run->stop_by = instant_after(now, options_.stop_within);
      out(StopRun{index, run->number});
    }
  }
  /// True if no run is left: then the error may be taken.
  [[nodiscard]] auto stopped() const noexcept -> bool {
    return std::none_of(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.run.has_value(); });
  }
  /// Returns the error and forgets it: closures may be scheduled again.
  auto take_error(Instant now) -> Error {
    none_since_ = now;
    return std::exchange(error_, {});
  }

  /// Returns when `woken` must be called; empty: not before the next event.
  [[nodiscard]] DISTRIB_DECL auto wake() const -> std::optional<Instant>;

  /// Does what is due at `now`: gives up runs that take too long, and reports that no worker is left.
  void woken(Instant now, auto& out) {
    for (std::uint32_t index = 0; index < workers_.size(); ++index) {
      std::optional<Run>& run = workers_[index].run;
      if (!run || now < ends_by(*run)) continue;
      if (run->stop_by) {
        out(CloseWorker{index});
        lost(index, now, out);
      } else if (!run->is_overdue) {
        run->is_overdue = true;
        fail(*run, {coordinator_errc::function_overdue, place(*run, index, {})}, out);
        run->is_over = true;
      }
    }
    if (now >= none_up_by()) fail({coordinator_errc::workers_lost, all_tasks()});
    dispatch(now, out);
  }

  /// Returns the names of the tasks that `join` waits for: those that run something, or all if none does.
  [[nodiscard]] DISTRIB_DECL auto awaited() const -> std::string;

 private:
  struct Closure {
    std::uint64_t number;
    std::string_view function;
  };
  struct Run {
    std::uint64_t number;
    Closure of;
    bool builds;  // a resource, whose number is `of.number`
    Instant since;
    std::optional<Instant> stop_by = {};  // it was asked to stop, and must have ended then
    bool is_overdue = false;
    bool is_over = false;  // its closure is done already: what the worker answers does not count
  };
  struct Worker {
    bool up = false;
    std::uint64_t process = 0;
    std::size_t built = 0;  // how many of the resources this process has
    Instant not_before{};  // staggered start
    std::optional<Run> run = {};
  };

  static auto task(std::uint32_t index) -> std::string { return "/job:worker/task:" + std::to_string(index); }
  static auto place(const Run& run, std::uint32_t index, const std::string& what) -> std::string {
    return std::string{run.of.function} + " on " + task(index) + (what.empty() ? "" : ": " + what);
  }
  DISTRIB_DECL auto all_tasks() const -> std::string;

  [[nodiscard]] auto workers_up() const noexcept -> std::size_t {
    return static_cast<std::size_t>(
        std::count_if(workers_.begin(), workers_.end(), [](const Worker& worker) { return worker.up; }));
  }
  [[nodiscard]] auto closures_running() const noexcept -> std::size_t {
    return static_cast<std::size_t>(std::count_if(workers_.begin(), workers_.end(), [](const Worker& worker) {
      return worker.run && !worker.run->builds && !worker.run->is_over;
    }));
  }

  [[nodiscard]] auto ends_by(const Run& run) const -> Instant {
    if (run.stop_by) return *run.stop_by;
    return run.is_overdue ? Instant::max() : instant_after(run.since, options_.function_within);
  }
  // When it is an error that no worker is up; `max`: it is none.
  [[nodiscard]] auto none_up_by() const -> Instant {
    if (queue_.empty() || error_ || workers_up() != 0) return Instant::max();
    return instant_after(none_since_, was_up_ ? options_.recovery_within : options_.start_within);
  }

  void dispatch(Instant now, auto& out) {
    for (std::uint32_t index = 0; index < workers_.size() && !queue_.empty() && !error_; ++index) {
      Worker& worker = workers_[index];
      if (!worker.up || worker.run || now < worker.not_before) continue;
      const std::uint64_t number = ++runs_;
      if (worker.built < resources_.size()) {
        worker.run = Run{number, resources_[worker.built], true, now};
        out(BuildResource{index, number, worker.run->of.number});
      } else {
        worker.run = Run{number, queue_.front(), false, now};
        queue_.pop_front();
        out(StartRun{index, number, worker.run->of.number});
      }
    }
  }

  void built_or_done(Worker& worker, const Run& run, auto& out) {
    if (run.builds) ++worker.built;
    else if (!run.is_over) out(ClosureDone{run.of.number, run.number});
  }

  void done(const Run& run, coordinator_errc code, auto& out) {
    if (!run.builds && !run.is_over) out(ClosureDone{run.of.number, 0, {code, std::string{run.of.function}}});
  }

  // The run did not end as it should, through no fault of its function.
  void again(const Run& run, auto& out) {
    if (run.builds || run.is_over) return;
    if (error_) done(run, coordinator_errc::cancelled, out);
    else queue_.push_front(run.of);
  }

  void report_ps(const Run& run, RunEnd end, auto& out) {
    bool is_lost = false;
    std::string names;
    for (const std::uint32_t ps : end.unreachable_ps) {
      if (ps >= reports_.size()) continue;
      is_lost = ++reports_[ps] >= std::max<std::uint32_t>(options_.ps_reports, 1) || is_lost;
      names += (names.empty() ? "" : ", ") + ("/job:ps/task:" + std::to_string(ps));
    }
    if (!is_lost) return again(run, out);
    fail(run, {coordinator_errc::ps_lost, names + (end.error.where.empty() ? "" : ": " + end.error.where)}, out);
  }

  void fail(const Run& run, Error error, auto& out) {
    if (run.is_over) return;
    if (run.builds) error = {coordinator_errc::resource_failed, error.where + ": " + error.code.message()};
    else out(ClosureDone{run.of.number, 0, error});
    fail(std::move(error));
  }
  void fail(Error error) {
    if (!error_) error_ = std::move(error);
  }

  CoordinatorOptions options_;
  std::vector<Worker> workers_;
  std::vector<std::uint32_t> reports_;  // how often each ps was reported as unreachable
  std::deque<Closure> queue_;
  std::vector<Closure> resources_;
  Error error_;
  std::uint64_t runs_ = 0;
  Instant none_since_;  // since when no worker is up
  bool was_up_ = false;  // some worker was
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/coordinator/impl/coordinator_core.ipp>
#endif
