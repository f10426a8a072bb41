// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/job/step.hpp>

#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

// The actions of `ServedRanks`.

/// Start a worker of this rank.
struct StartRank {
  Rank rank = 0;
};
/// Let the worker of this rank finish its contribution and leave.
struct StopRank {
  Rank rank = 0;
};
/// No worker is left, and none will be started: the process ends with this exit code.
struct ProcessDone {
  int code = exit_code::done;
};

/// The ranks that a process of a job with dealt ranks serves, each by a worker of its own: starts and stops workers as
/// a `RankDealer` says, and decides when the process is done.
///
/// - A rank that is dealt again while its worker is leaving is started again when that worker has ended.
/// - When the worker of one rank has ended with code 0, everything is saved: no worker is started any more, and the
///   process ends with code 0 when its other workers have ended, however they end.
/// - A worker that ends otherwise, without having been told to leave, ends the process with its code.
///
/// Events in, actions out by calls `out(action)`; no clock, no I/O, no thread. `out` must not call this object.
class ServedRanks {
 public:
  /// `is_chief`: rank 0 is served from the start, whatever is dealt.
  explicit ServedRanks(bool is_chief = false) : is_chief_{is_chief} {}

  /// The process begins.
  void start(auto& out) {
    if (is_chief_) dealt({}, out);
  }

  /// The ranks that were dealt to this process.
  void dealt(std::span<const Rank> ranks, auto& out) {
    if (ends_) return;
    wanted_ = {ranks.begin(), ranks.end()};
    if (is_chief_) wanted_.insert(0);
    for (auto& [rank, leaves] : served_)
      if (!wanted_.contains(rank) && !std::exchange(leaves, true)) out(StopRank{rank});
    for (const Rank rank : wanted_)
      if (served_.insert({rank, false}).second) out(StartRank{rank});
  }

  /// The worker of a rank has ended, with this exit code. A worker that was told to leave ends with code 1.
  void ended(Rank rank, int code, auto& out) {
    const auto known = served_.find(rank);
    if (known == served_.end()) return;
    const bool left = known->second && code == exit_code::again;
    served_.erase(known);
    if (code == exit_code::done) is_done_ = ends_ = true;
    else if (!left) fail(code, out);
    if (!ends_ && wanted_.contains(rank)) {
      served_.insert({rank, false});
      out(StartRank{rank});
    }
    end_if_empty(out);
  }

  /// The process is asked to end: all workers leave. It ends with code 1.
  void stop(auto& out) { fail(exit_code::again, out); }

  /// Ranks cannot be dealt to this process: it ends with this code.
  void failed(int code, auto& out) {
    fail(code, out);
    end_if_empty(out);
  }

  /// The job is done, as the dealer says. A process without ranks ends with code 0; the workers of others end by
  /// themselves.
  void job_is_over(auto& out) {
    if (!served_.empty() || ends_) return;
    is_done_ = ends_ = true;
    end_if_empty(out);
  }

  /// Returns the ranks that this process serves, as it tells the dealer: without those that it gives up.
  [[nodiscard]] auto serves() const -> std::vector<Rank> { return {wanted_.begin(), wanted_.end()}; }
  /// True if no worker is started any more.
  [[nodiscard]] auto ends() const noexcept -> bool { return ends_; }

 private:
  void fail(int code, auto& out) {
    if (!std::exchange(ends_, true)) code_ = code;
    for (auto& [rank, leaves] : served_)
      if (!is_done_ && !std::exchange(leaves, true)) out(StopRank{rank});
    if (served_.empty()) end_if_empty(out);
  }

  void end_if_empty(auto& out) {
    if (!ends_ || !served_.empty() || std::exchange(over_, true)) return;
    out(ProcessDone{is_done_ ? exit_code::done : code_});
  }

  bool is_chief_;
  std::set<Rank> wanted_;
  std::map<Rank, bool> served_;  // true: its worker was told to leave
  bool is_done_ = false;  // the job is done
  bool ends_ = false;
  bool over_ = false;
  int code_ = exit_code::done;
};

}  // namespace v0
}  // namespace distrib
