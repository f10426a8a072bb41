// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/exit_code.hpp>
#include <distrib/ps/job/rank_block.hpp>
#include <distrib/ps/job/step.hpp>

#include <map>
#include <set>
#include <span>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

// The actions of `ServedRanks`.

/// Start a worker of these ranks.
struct StartRanks {
  RankBlock ranks;
};
/// Let the worker of these ranks finish its contribution and leave.
struct StopRanks {
  RankBlock ranks;
};
/// No worker is left, and none will be started: the process ends with this exit code.
struct ProcessDone {
  int code = exit_code::done;
};

/// The ranks that a process of a job with dealt ranks serves, by workers: starts and stops workers as a `RankDealer`
/// says, and decides when the process is done. A worker serves one rank; or the ranks are grouped into as few aligned
/// blocks as there can be, and a worker serves a block, whose sum it pushes. When ranks come or go, the workers of the
/// blocks that change leave, and workers of others begin, as after a death.
///
/// - A block that is dealt again while its worker is leaving is started again when that worker has ended.
/// - When one worker has ended with code 0, everything is saved: no worker is started any more, and the process ends with
///   code 0 when its other workers have ended, however they end.
/// - A worker whose ranks have retired (`WorkerDone::retired`) is started again as long as they are dealt: the dealer
///   knows whether they are needed again.
/// - A worker that ends otherwise, without having been told to leave, ends the process with its code.
///
/// Events in, actions out by calls `out(action)`; no clock, no I/O, no thread. `out` must not call this object.
class ServedRanks {
 public:
  /// `is_chief`: rank 0 is served from the start, whatever is dealt. `sums_of`: the number of ranks of the job, if workers
  /// serve blocks; 0: each worker serves one rank.
  explicit ServedRanks(bool is_chief = false, Rank sums_of = 0) : is_chief_{is_chief}, sums_of_{sums_of} {}

  /// The process begins.
  void start(auto& out) {
    if (is_chief_) dealt({}, out);
  }

  /// The ranks that were dealt to this process.
  void dealt(std::span<const Rank> ranks, auto& out) {
    if (ends_) return;
    ranks_ = {ranks.begin(), ranks.end()};
    if (is_chief_ && (ranks_.empty() || ranks_.front() != 0)) ranks_.insert(ranks_.begin(), 0);
    const std::vector<RankBlock> blocks =
        sums_of_ != 0 ? rank_blocks(ranks_, sums_of_) : std::vector<RankBlock>{ranks_.begin(), ranks_.end()};
    wanted_ = {blocks.begin(), blocks.end()};
    for (auto& [block, leaves] : served_)
      if (!wanted_.contains(block) && !std::exchange(leaves, true)) out(StopRanks{block});
    for (const RankBlock block : wanted_)
      if (served_.insert({block, false}).second) out(StartRanks{block});
  }

  /// The worker of these ranks has ended, with this exit code. A worker that was told to leave ends with code 1, and so
  /// does a `retired` one.
  void ended(RankBlock ranks, int code, auto& out, bool retired = false) {
    const auto known = served_.find(ranks);
    if (known == served_.end()) return;
    const bool left = (known->second || retired) && code == exit_code::again;
    served_.erase(known);
    if (code == exit_code::done) is_done_ = ends_ = true;
    else if (!left) fail(code, out);
    if (!ends_ && wanted_.contains(ranks)) {
      served_.insert({ranks, false});
      out(StartRanks{ranks});
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
  [[nodiscard]] auto serves() const -> std::vector<Rank> { return ranks_; }
  /// True if no worker is started any more.
  [[nodiscard]] auto ends() const noexcept -> bool { return ends_; }

 private:
  void fail(int code, auto& out) {
    if (!std::exchange(ends_, true)) code_ = code;
    for (auto& [block, leaves] : served_)
      if (!is_done_ && !std::exchange(leaves, true)) out(StopRanks{block});
    if (served_.empty()) end_if_empty(out);
  }

  void end_if_empty(auto& out) {
    if (!ends_ || !served_.empty() || std::exchange(over_, true)) return;
    out(ProcessDone{is_done_ ? exit_code::done : code_});
  }

  bool is_chief_;
  Rank sums_of_;
  std::vector<Rank> ranks_;  // ascending
  std::set<RankBlock> wanted_;  // the same as blocks
  std::map<RankBlock, bool> served_;  // true: its worker was told to leave
  bool is_done_ = false;  // the job is done
  bool ends_ = false;
  bool over_ = false;
  int code_ = exit_code::done;
};

}  // namespace v0
}  // namespace distrib
