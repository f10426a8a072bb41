// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/detail/replica_views.hpp>
#include <distrib/ps/protocol/detail/rows_to_pull.hpp>
#include <distrib/ps/protocol/replay_buffer.hpp>
#include <distrib/ps/protocol/worker_action.hpp>

#include <algorithm>
#include <cstdint>
#include <cstring>
#include <optional>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// One worker of a synchronous job. Waits for the values of step t from every shard, has contribution t + 1 made, sends
/// it to all shards, and keeps it until every shard has it in a cut. Sends shards that come back what they lack; if it
/// cannot, sends all shards to the common cut. The rules are in docs/design/protocol.md, section "Synchronous
/// jobs"; numbers in comments name them.
///
/// With backup workers (`Consistency::replicas_to_aggregate`) no worker sends shards back. A worker that gets Gone, or
/// cannot send a shard what it lacks, continues at the smallest k and makes again the contributions that it no longer
/// has. If a shard came back, and there is no step whose values all shards still keep, the worker uses from each shard
/// the values of the step where that shard is.
///
/// In a job that was started again with other settings (`Lineage`) shards may be of different histories. The worker
/// then sends them to the newest cut that is the same on all of them. In a job that is not replayable
/// (`Job::replayable`) the steps that only some shards have cannot be made again: a worker that has made nothing yet
/// sends all shards to the newest common cut if they are at different steps.
///
/// With replicas (`Job::replicas`) each event and action names a replica by its number instead of a shard. The worker
/// sends the same contributions to all replicas, and uses the values of the first replica of a shard that answers. Only
/// live replicas count: the worker does not wait for a replica that is not connected.
///
/// A worker may serve a block of ranks (`WorkerOptions::level`): then its contribution is their sum, by the name of the
/// block. Another block is another worker.
///
/// In a job whose ranks change (`Job::most_ranks`) the worker learns from the values of t of all shards which ranks
/// make step t + 1. If its rank is none of them, it only follows the values, and makes no contribution. After Gone it
/// joins again, and sends shards back, only if it makes a step up to where that shard is; otherwise it goes on there.
/// When its rank is in no later step, and everything that it made is in the common cut, it leaves
/// (`WorkerDone::retired`).
///
/// Events in, actions out; no clock, no I/O, no thread. Each action is one call `out(action)`, in the order to be
/// performed in; `out` must not call the core. A restart of the worker is the same as its first start (rule 7).
///
/// Threads: one at a time.
class SyncWorkerCore {
 public:
  static constexpr bool is_synchronous = true;  ///< As `Consistency::is_synchronous` of its jobs.

  DISTRIB_DECL SyncWorkerCore(const Job& job, Rank rank, WorkerOptions options = {});

  /// Returns t: the step whose values the worker has or waits for; 0 before all shards have answered.
  [[nodiscard]] auto step() const noexcept -> Step { return t_.value_or(0); }

  /// Returns the bytes of the contributions that are kept to be sent again (`WorkerOptions::replay_budget_bytes`).
  [[nodiscard]] auto replay_bytes() const noexcept -> std::size_t { return buffer_.bytes(); }

  /// Joins all shards.
  void start(auto& out) { join_all(out); }

  /// The connection to `replica` was lost and is open again: joins again, because it is unknown what arrived.
  void reconnected(std::uint32_t replica, auto& out) {
    replicas_[replica].connected = true;
    out(SendJoin{replica});
  }

  /// The connection to `replica` is lost. If the shard has another replica, the worker continues with that replica;
  /// otherwise it waits for `reconnected`.
  void disconnected(std::uint32_t replica, auto& out) {
    ReplicaView& view = replicas_[replica];
    view.lose();
    if (!replicas_.replicated()) return;
    view.live = false;
    if (done_) return;
    if (!t_) {
      view.joined = false;
      if (replicas_.ready()) begin(out);
      return;
    }
    view.doubtful = true;
    doubt(replica, out);
    if (t_) ask_another(replica, out);
    serve_siblings(replica, out);
    if (t_) go_on(out);
  }

  /// The shard reports where it is: the answer to the newest `SendJoin`, to `SendRestore` or to `SendCatchUp`; also
  /// sent when any worker's Restore moved the shard, when the shard has asked the other replica for its state, or when
  /// it lost another process of this rank. It is unknown which contributions of this rank after `done` the shard has
  /// stored. The shell must drop answers to older Joins.
  void joined(std::uint32_t replica, Progress progress, auto& out) {
    hear(replica, progress);
    ReplicaView& view = replicas_[replica];
    view.is_old = progress.history != only_settings_ && progress.history == 0;
    view.stand_at(known(std::move(progress)));
    view.connected = view.live = true;
    view.lame = view.begun = false;
    view.sent = view.progress.done;
    view.awaited = view.cut_asked = 0;  // the shard has forgotten earlier requests
    if (has_backups_) view.got = nullptr;  // it may have come back, and may have other values of the same step
    view.joined = true;
    if (done_) return;
    if (!t_) {
      if (replicas_.ready()) begin(out);
      return;
    }
    if (is_of_other_history(view.progress)) return join_all(out);
    doubt(replica, out);
    if (t_) serve(replica, out);
    if (t_) pull(replica, out);  // even if its values have arrived: the answer says when it has reached t
    if (t_ && replicas_.replicated()) {
      view.doubtful = true;
      ask_another(replica, out);
      serve_siblings(replica, out);
    }
    if (t_) go_on(out);  // a cut of that shard may be what the worker waited for
  }

  /// The shard reports its progress without being asked.
  void notice(std::uint32_t replica, Progress progress, auto& out) { learn(replica, std::move(progress), out); }
  /// The shard answers a push.
  void pushed(std::uint32_t replica, Progress progress, auto& out) { learn(replica, std::move(progress), out); }

  /// The shard answers a pull with the values of `step`. Values that are not wanted any more are dropped. If another
  /// replica of the shard has sent different values of this step, `ReplicasDiffer` follows.
  void values(std::uint32_t replica, Step step, SharedBuffer block, Progress progress, auto& out) {
    const std::uint32_t shard = replicas_.shard_of(replica);
    progress = known(std::move(progress));
    const bool wanted = t_ && step == replicas_.of(replica).asked && !computing_ && !is_of_other_history(progress);
    if (wanted && rows_.fit(*t_ + 1, shard, block)) {
      const SharedBuffer& known = replicas_.values_of(shard);
      if (replicas_.replicated() && known && !is_same(*known, *block)) return out(ReplicasDiffer{shard, step});
      replicas_.quiet(replica).got = std::move(block);
    }
    learn(replica, std::move(progress), out);
  }

  /// The shard answers a pull: it no longer keeps the values of `step` (rule 9).
  void gone(std::uint32_t replica, Step step, Progress progress, auto& out) {
    hear(replica, progress);
    ReplicaView& view = replicas_[replica];
    const std::uint32_t shard = replicas_.shard_of(replica);
    progress = known(std::move(progress));
    if (!t_ || done_ || step != view.asked || computing_ || replicas_.values_of(shard) || is_of_other_history(progress))
      return learn(replica, std::move(progress), out);
    view.progress = std::move(progress);
    const std::uint32_t other = replicas_.source(shard, *t_);
    if (other != replica && !replicas_[other].is_beyond(*t_)) return pull(other, out);
    if (!has_backups_ && !makes_some(*t_, view.progress.done)) return look_on_at(view.progress.done, out);
    if (!has_backups_ && view.progress.doubled) return follow(replica, out);
    if (!has_backups_ && gone_at_ == t_) return restore(out);
    gone_at_ = t_;
    join_all(out);
  }

  /// The rows that the contribution of `step` needs, one entry per shard, as `Prepare` asked.
  void prepared(Step step, std::vector<WantedRows> rows, auto& out) {
    if (!t_ || done_ || step != *t_ + 1 || rows_.known_for(step)) return;  // too late
    rows_.know(step, std::move(rows));
    pull_all(out);
  }

  /// The contribution that `Compute` asked for, one block per shard; with tables also the rows that the next
  /// contribution needs; if they are not known yet, an empty list, and `Prepare` follows. A result with an old `ticket`
  /// is dropped.
  void computed(std::uint64_t ticket, std::vector<SharedBuffer> blocks, auto& out, std::vector<WantedRows> next = {}) {
    if (!computing_ || ticket != ticket_) return;  // too late: the worker has joined again meanwhile
    computing_ = false;
    aligns_ = false;
    gone_at_.reset();
    buffer_.drop_through(common_cut());
    t_ = last_made_ = *t_ + 1;
    buffer_.keep(*t_, std::move(blocks));
    if (!next.empty()) rows_.know(*t_ + 1, std::move(next));
    const bool pulls = !stopping_ && rows_.known_for(*t_ + 1);
    replicas_.want_anew();
    for (std::uint32_t replica = 0; replica < replicas_.size() && t_; ++replica) {
      // so that it is counted as stale
      if (has_backups_ && replicas_.of(replica).progress.done >= *t_) push(replica, *t_, out);
      serve(replica, out, pulls && replicas_.is_source(replica, *t_));
    }
    if (!t_) return;
    if (stopping_) return leave(out);
    if (!pulls) out(Prepare{*t_ + 1});
    pull_all(out);
  }

  /// Finishes the contribution that is being computed, then leaves: `WorkerDone` with `left`. The job continues another
  /// time.
  void stop(auto& out) {
    if (stopping_ || done_) return;
    stopping_ = true;
    if (!computing_) leave(out);
  }

  /// Leaves at once: the contribution that `Compute` asked for will not be made.
  void abandon(auto& out) {
    if (done_) return;
    stopping_ = true;
    computing_ = false;
    leave(out);
  }

  /// Returns the newest step that is in every shard's list of cuts (rule 6); 0 if the shards are of different
  /// histories, or have not all reported their cuts.
  [[nodiscard]] auto common_cut() const -> Step { return replicas_.common_cut(); }

  /// True if every shard has the cut of the last step, and all are of one history; with replicas see
  /// `ReplicaViews::all_saved`. Then nothing is left to do, even if shards were sent back since.
  [[nodiscard]] auto everything_saved() const -> bool {
    return replicas_.all_saved(total_steps_) && replicas_.have_one_history();
  }

 private:
  using ReplicaView = detail::ReplicaView;

  // Not std::ranges::equal, which compares byte by byte in libstdc++ 12.
  static auto is_same(const AlignedBuffer& a, const AlignedBuffer& b) noexcept -> bool {
    return a.size() == b.size() && (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size()) == 0);
  }

  // A shard of an older version reports no history: assumes that it is the history of the present settings alone.
  [[nodiscard]] auto known(Progress progress) const -> Progress {
    if (progress.history == 0) progress.history = only_settings_;
    return progress;
  }
  [[nodiscard]] auto is_of_other_history(const Progress& progress) const -> bool {
    return progress.history != history_;
  }

  // --- ranks that change ---

  // A shard tells its log. Adds it to what is known: the union of the logs of all shards (E4). What was heard before
  // the values of t may be added too: entries up to t + 1 that a shard ever has, it tells with the values of t.
  void hear(std::uint32_t replica, const Progress& progress) {
    if (progress.ranks == nullptr || !log_ || heard_[replica] == progress.ranks) return;
    log_->add(*progress.ranks);
    heard_[replica] = progress.ranks;
  }

  // True if the rank makes a contribution to the step.
  [[nodiscard]] auto makes(Step step) const -> bool { return !log_ || log_->is_rank_of(step, rank_); }

  // True if the rank makes a contribution to a step after `from`, up to `to`.
  [[nodiscard]] auto makes_some(Step from, Step to) const -> bool {
    if (!log_) return true;
    while (from < to && !makes(from + 1)) ++from;
    return from < to;
  }

  // True if nobody will ask this rank for anything any more, as far as is known.
  [[nodiscard]] auto is_retired() const -> bool {
    return log_ && last_made_ != 0 && !wants_result_ && !log_->is_rank_after(*t_, rank_) && common_cut() >= last_made_;
  }

  // The rank makes none of the steps up to this one, where a shard is: goes on there, when all shards are. It does not
  // join anew: until then each Join would lead to another Gone, without a pause. If a shard tells later that the rank
  // makes one of these steps after all, `serve` sends all back.
  void look_on_at(Step step, auto& out) {
    gone_at_.reset();
    t_ = step;
    replicas_.want_anew();
    pull_all(out);
  }

  // The rank is none of those of the next step: follows the values without a contribution.
  void look_on(auto& out) {
    gone_at_.reset();
    buffer_.drop_through(common_cut());
    t_ = *t_ + 1;
    replicas_.want_anew();
    pull_all(out);
  }

  void join_all(auto& out) {
    forget();
    if (stopping_) return leave(out);  // the result of the computation would be dropped
    for (std::uint32_t replica = 0; replica < replicas_.size(); ++replica) out(SendJoin{replica});
  }

  // Rules 9 and 10: sends all shards to the newest cut that all have.
  void restore(auto& out) {
    const Step cut = common_cut();
    forget();
    gone_at_.reset();
    if (stopping_) return leave(out);
    for (std::uint32_t replica = 0; replica < replicas_.size(); ++replica) {
      replicas_[replica].asked_back();
      out(SendRestore{replica, cut});
    }
  }

  // Shards are of different histories: sends all to the newest cut that is the same on all of them. If one of them runs
  // an older version, the job ends instead.
  void join_histories(auto& out) {
    for (std::uint32_t replica = 0; replica < replicas_.size(); ++replica)
      if (replicas_[replica].joined && replicas_[replica].is_old) return out(TellsNoHistory{replica});
    const NamedCut cut = replicas_.common_of_histories();
    forget();
    if (stopping_) return leave(out);
    for (std::uint32_t replica = 0; replica < replicas_.size(); ++replica)
      out(SendRestore{replica, cut.step, cut.lineage});
  }

  DISTRIB_DECL void forget();

  // Rule 9, when another process of this rank is connected and ahead: continues beside it, at the step of `replica`.
  // The contributions before that, which other shards may still lack, are left to the other process.
  void follow(std::uint32_t replica, auto& out) {
    const Step from = *std::exchange(t_, replicas_[replica].progress.done);
    replicas_.leave(replica, from, *t_);
    replicas_.want_anew();
    if (!rows_.known_for(*t_ + 1)) out(Prepare{*t_ + 1});
    pull_all(out);
  }

  // If `replica` reported the other process, that process may be lost now: takes back what was left to it.
  void doubt(std::uint32_t replica, auto& out) {
    if (!replicas_[replica].witness) return;
    replicas_.take_back();
    for (std::uint32_t other = 0; other < replicas_.size() && t_; ++other) serve(other, out);
  }

  // Every shard has answered: t is the smallest k of the shards (rule 7); the k of a shard is the largest of its
  // replicas.
  void begin(auto& out) {
    if (!replicas_.have_one_history()) return join_histories(out);
    const auto joined = std::ranges::find_if(replicas_, &ReplicaView::joined);
    if (joined->progress.history != history_) buffer_.clear();  // its contributions were made from other values
    history_ = joined->progress.history;
    t_ = replicas_.least_done();
    if (aligns_ && !std::ranges::all_of(replicas_, [this](const ReplicaView& v) { return v.progress.done == t_; }))
      return restore(out);
    while (has_backups_ && buffer_.has(*t_ + 1)) ++*t_;  // a shard came back, and these contributions are made already
    buffer_.drop_after(*t_);  // they are made again from here
    if (everything_saved() && (!wants_result_ || *t_ < total_steps_)) return go_on(out);
    if (!rows_.known_for(*t_ + 1)) out(Prepare{*t_ + 1});
    for (std::uint32_t replica = 0; replica < replicas_.size() && t_; ++replica) {
      if (replicas_.is_source(replica, *t_)) pull(replica, out);
      serve(replica, out);
    }
  }

  // Asks for the values of t, but only when it is known which rows are wanted with them.
  void pull(std::uint32_t replica, auto& out) {
    if (!rows_.known_for(*t_ + 1)) return;
    ReplicaView& view = replicas_.quiet(replica);
    const bool apart = has_backups_ && gone_at_ == t_ && view.progress.done > *t_;
    view.asked = apart ? view.progress.done : *t_;
    out(SendPull{replica, *view.asked, rows_.of(replicas_.shard_of(replica))});
  }
  void pull_all(auto& out) {
    for (std::uint32_t shard = 0; shard < replicas_.shards(); ++shard) pull(replicas_.source(shard, *t_), out);
  }

  void push(std::uint32_t replica, Step step, auto& out, bool pull_follows = false) const {
    const SharedBuffer& block = buffer_.block(step, replicas_.shard_of(replica));
    const SharedRankEntry entry = log_ && step != 0 ? log_->entry_of(step) : nullptr;
    out(SendPush{
        replica, {step, rank_, block, 0, common_cut(), history_, step == 0 ? 0 : level_, entry}, pull_follows});
  }

  // Sends the contributions that the shard lacks, as far ahead as the shard stores them (rules 3 and 8). If one of them
  // is no longer kept:
  // - rule 10;
  // - with backup workers: the contributions of other ranks may suffice, so waits until the shard needs exactly this
  //   step, then joins all again;
  // - with replicas: the replica gets the state of the other replica.
  void serve(std::uint32_t replica, auto& out, bool pull_follows = false) {
    ReplicaView& view = replicas_.quiet(replica);
    if (replicas_.replicated() && !view.live && !view.lame) return;
    if (view.progress.no_values && buffer_.has(0) && !std::exchange(view.begun, true)) push(replica, 0, out);
    Step last = std::min(*t_, view.progress.done + window_);
    for (Step step = std::max(view.sent, view.progress.done) + 1; step <= last; ++step) {
      if (!buffer_.has(step)) {
        if (replicas_.is_left(step) || !makes(step)) continue;
        if (view.lame) continue;  // another worker may have sent it
        if (replicas_.replicated() && find_help(replica, out)) return;
        if (!has_backups_) return restore(out);
        if (step == view.progress.done + 1) return join_all(out);
        last = step - 1;
        break;
      }
      push(replica, step, out, pull_follows);
      view.sent = step;
    }
    if (last < *t_ && std::exchange(view.awaited, last) != last)
      out(SendPull{replica, last});  // answered when the shard has room for the rest
  }

  // It may be useless to wait for a replica that was lost, has joined again or is left behind. So asks the other
  // replicas of the shard too, also replicas that were not ahead when they last reported.
  void ask_another(std::uint32_t replica, auto& out) {
    const std::uint32_t shard = replicas_.shard_of(replica);
    if (computing_ || replicas_.values_of(shard) || !replicas_.some_of(shard, &ReplicaView::doubtful)) return;
    for (std::uint32_t other = shard; other < replicas_.size(); other += replicas_.shards())
      if (replicas_[other].asked != t_ && replicas_.may_give(other, *t_)) pull(other, out);
  }

  // Contributions that `replica` lacks are no longer kept. If another live replica is ahead, asks `replica` to get the
  // state of that replica, or leaves `replica` behind (`lame`) if that did not help before. Returns false if no other
  // replica can help, neither now nor after it has joined; and if a Restore of another worker sent `replica` back: the
  // other replica is about to go back too, and helping would undo what that worker needs. After a Restore of this
  // worker a replica that is ahead stays there, because it keeps the values of the cut.
  auto find_help(std::uint32_t replica, auto& out) -> bool {
    ReplicaView& view = replicas_[replica];
    if (view.sent_back) return false;
    const std::uint32_t shard = replicas_.shard_of(replica);
    const Step done = view.progress.done;
    if (!replicas_.some_of(shard, [done](const ReplicaView& v) { return v.live && v.progress.done > done; }))
      return replicas_.some_of(shard, [](const ReplicaView& v) { return v.connected && !v.live && !v.lame; });
    view.lame = view.helped_at == done && !replicas_.has_helper(replica);
    view.live = false;
    view.doubtful = view.doubtful || view.lame;
    view.lame ? ask_another(replica, out) : catch_up(replica, out);
    return true;
  }

  // Asks replicas to get the state of another replica: the lame ones, as soon as another replica has a newer cut; and
  // at the end of the job all that are behind, because the workers that could send them contributions may have ended.
  void help(auto& out) {
    for (std::uint32_t replica = 0; replica < replicas_.size(); ++replica) {
      const ReplicaView& view = replicas_[replica];
      const Step done = view.progress.done;
      const bool is_behind = view.live && done < total_steps_ && replicas_.lags(replica, total_steps_);
      if (is_behind || (view.lame && replicas_.has_helper(replica))) catch_up(replica, out);
    }
  }

  void catch_up(std::uint32_t replica, auto& out) {
    ReplicaView& view = replicas_[replica];
    view.live = view.lame = false;
    view.helped_at = view.progress.done;
    out(SendCatchUp{replica, view.progress.done});
  }

  // Other replicas of the same shard may have waited for a change of this replica.
  void serve_siblings(std::uint32_t replica, auto& out) {
    const std::uint32_t first = replicas_.shard_of(replica);
    for (std::uint32_t other = first; other < replicas_.size() && t_; other += replicas_.shards())
      if (other != replica) serve(other, out);
  }

  void learn(std::uint32_t replica, Progress progress, auto& out) {
    hear(replica, progress);
    replicas_.learn(replica, known(std::move(progress)));
    if (!t_ || done_) return;
    if (is_of_other_history(replicas_.of(replica).progress)) return join_all(out);
    serve(replica, out);
    if (t_ && replicas_.replicated()) ask_another(replica, out);
    if (t_) go_on(out);
  }

  // The end (rule 12); or the next contribution, if the values of t have arrived.
  void go_on(auto& out) {
    if (everything_saved()) return end(out);
    if (replicas_.replicated()) help(out);
    if (is_retired()) return leave(out, true);
    if (computing_ || stopping_ || *t_ >= total_steps_) return;
    if (!replicas_.has_all_values()) return;
    if (!makes(*t_ + 1)) return look_on(out);
    buffer_.drop_through(common_cut());
    // a shard that is ahead has the contribution already: no room is needed
    if (buffer_.full() && !replicas_.some_ahead(*t_)) {
      const auto has_no_room = [](const ReplicaView& v) { return v.live && v.progress.no_room; };
      const bool may_move = std::ranges::none_of(replicas_, has_no_room);
      if (may_move || *t_ >= ask_again_) ask_for_cuts(out);
      if (may_move) return;  // rule 6: wait until the common cut moves
      if (*t_ >= ask_again_) ask_again_ = *t_ + buffer_.steps();
      buffer_.make_room();  // The common cut cannot move now. If a shard is lost, all shards go back to that cut.
    }
    computing_ = true;
    Compute work{*t_ + 1, ++ticket_, replicas_.all_values()};
    if (log_) work.entry = log_->entry_of(work.step);
    if (log_) work.number = log_->number_of(work.step, rank_);
    out(std::move(work));
  }

  // A worker that wants the result gets it before it says goodbye. Shards that were sent back go to the cut of the last
  // step for it.
  void end(auto& out) {
    WorkerDone ended;
    if (wants_result_ && !stopping_) {
      const auto is_there = [this](const ReplicaView& v) { return v.progress.done >= total_steps_; };
      if (*t_ < total_steps_ || !replicas_.some_of_each(is_there)) return has_backups_ ? join_all(out) : restore(out);
      if (!replicas_.has_all_values()) return;
      ended.result = replicas_.all_values();
    }
    done_ = true;
    computing_ = false;
    // no Goodbye to a shard with a replica that lacks the last cut, so that the replica that has it stays for a while
    for (std::uint32_t replica = 0; replica < replicas_.size(); ++replica)
      replicas_.some_lack(total_steps_, replica) ? out(SendLeave{replica}) : out(SendGoodbye{replica});
    out(std::move(ended));
  }

  // The next due cut may lie beyond what the buffer can hold. But every shard reaches t, and can make a cut there.
  void ask_for_cuts(auto& out) {
    for (std::uint32_t replica = 0; replica < replicas_.size(); ++replica) {
      ReplicaView& view = replicas_[replica];
      if (view.progress.done == *t_ && std::exchange(view.cut_asked, *t_) != *t_) out(SendSave{replica});
      // the answer says when it has reached t
      if (view.live && view.progress.done < *t_ && view.asked != t_) pull(replica, out);
    }
  }

  void leave(auto& out, bool retired = false) {
    done_ = true;
    for (std::uint32_t replica = 0; replica < replicas_.size(); ++replica) out(SendLeave{replica});
    out(WorkerDone{.left = true, .retired = retired});
  }

  Rank rank_;
  std::uint32_t level_;  // see `WorkerOptions::level`
  Step total_steps_;
  detail::ReplicaViews replicas_;
  ReplayBuffer buffer_;
  Step window_;
  bool wants_result_;
  bool has_backups_;
  bool aligns_;  // sends shards at different steps to the common cut, as long as this worker has made nothing
  std::uint64_t only_settings_;  // the digest of the lineage that has only the present settings; with backup workers 0
  std::uint64_t history_ = 0;  // of the shards, when all had joined
  detail::RowsToPull rows_;  // for the contribution after t
  std::optional<RankLog> log_;  // of all shards, as far as is known; empty: the ranks of the job never change
  std::vector<SharedRankLog> heard_;  // by replica: what it told last
  Step last_made_ = 0;  // the last step with a contribution of this process
  std::optional<Step> t_;
  bool computing_ = false;
  std::uint64_t ticket_ = 0;
  Step ask_again_ = 0;  // the step from which to ask for cuts again, while a shard has no disk space for them
  std::optional<Step> gone_at_;  // t, if a shard has answered Gone for it since the last contribution
  bool stopping_ = false;
  bool done_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/impl/sync_worker_core.ipp>
#endif
