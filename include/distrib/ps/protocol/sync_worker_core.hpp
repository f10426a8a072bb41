// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>
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

/// One worker of a synchronous job: waits for the values of step t from every shard, has the contribution t+1 made,
/// sends it to all, and keeps it until every shard has it in a cut. Serves shards that came back, sends everybody to
/// the common cut when it cannot. The rules are those of the protocol ("Synchronous rules").
///
/// With backup workers (`Consistency::replicas_to_aggregate`) nobody is sent back because of one: a worker that is told
/// Gone, or cannot serve a shard, goes on at the smallest k, and makes again what it does not have. When shards are so
/// far apart that no step is left that all of them give, because one came back, each gives the step where it is.
///
/// A job that was started again with other settings has cuts of more than one history (`Lineage`): shards that are not of
/// the same one are sent to the newest cut that is the same on all of them.
///
/// With replicas (`Job::replicas`) what is a shard to the events and actions is a replica of one, by its number: they
/// are sent the same, and whichever answers gives the values. Of those of a shard the live ones count, and nobody waits
/// for one that is not connected.
///
/// Events in, actions out; no clock, no I/O, no thread. Each action is told by a call of `out(action)`, in the
/// order to be performed in; `out` must not call the core. Threads: one at a time. The first start and every later one
/// are the same (rule 7).
class SyncWorkerCore {
 public:
  static constexpr bool is_synchronous = true;  ///< As `Consistency::is_synchronous` of its jobs.

  DISTRIB_DECL SyncWorkerCore(const Job& job, Rank rank, WorkerOptions options = {});

  /// The step whose values the worker has or waits for.
  [[nodiscard]] auto step() const noexcept -> Step { return t_.value_or(0); }

  void start(auto& out) { join_all(out); }

  /// The connection to a shard was lost and is there again: what was on its way is unknown.
  void reconnected(std::uint32_t replica, auto& out) {
    replicas_[replica].connected = true;
    out(SendJoin{replica});
  }

  /// It is lost. Of a shard that has another replica that one goes on alone.
  void disconnected(std::uint32_t replica, auto& out) {
    ReplicaView& view = replicas_[replica];
    view.connected = false;
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

  /// The answer to the newest SendJoin or to SendRestore, and what a shard says when anybody's Restore moved it or it
  /// lost another process of this rank: where it is. What it held of this rank's beyond `done` is unknown. Answers to
  /// older Joins are not passed on.
  void joined(std::uint32_t replica, Progress progress, auto& out) {
    ReplicaView& view = replicas_[replica];
    view.is_old = progress.history != only_settings_ && progress.history == 0;
    view.progress = known(std::move(progress));
    view.connected = view.live = true;
    view.lame = view.begun = false;
    view.sent = view.progress.done;
    view.awaited = view.cut_asked = 0;  // what it was asked before is forgotten
    if (has_backups_) view.got = nullptr;  // it may have come back, and make other values of the same step
    view.joined = true;
    if (!t_) {
      if (replicas_.ready()) begin(out);
      return;
    }
    if (is_of_other_history(view.progress)) return join_all(out);
    doubt(replica, out);
    if (t_) serve(replica, out);
    if (t_) pull(replica, out);  // even when its values are here: the answer tells when it is there
    if (t_ && replicas_.replicated()) {
      view.doubtful = true;
      ask_another(replica, out);
      serve_siblings(replica, out);
    }
    go_on(out);  // its cuts may be what was waited for
  }

  /// What a shard tells unasked: how far it is, which cuts it has.
  void notice(std::uint32_t replica, Progress progress, auto& out) { learn(replica, std::move(progress), out); }
  void pushed(std::uint32_t replica, Progress progress, auto& out) { learn(replica, std::move(progress), out); }

  void values(std::uint32_t replica, Step step, SharedBuffer block, Progress progress, auto& out) {
    const std::uint32_t shard = replicas_.shard_of(replica);
    progress = known(std::move(progress));
    const bool wanted = t_ && step == replicas_[replica].asked && !computing_ && !is_of_other_history(progress);
    if (wanted && rows_.fit(*t_ + 1, shard, block)) {
      const SharedBuffer& known = replicas_.values_of(shard);
      if (replicas_.replicated() && known && !is_same(*known, *block)) return out(ReplicasDiffer{shard, step});
      replicas_[replica].got = std::move(block);
    }
    learn(replica, std::move(progress), out);
  }

  /// A shard no longer keeps the values of `step` (rule 9).
  void gone(std::uint32_t replica, Step step, Progress progress, auto& out) {
    ReplicaView& view = replicas_[replica];
    const std::uint32_t shard = replicas_.shard_of(replica);
    progress = known(std::move(progress));
    if (!t_ || done_ || step != view.asked || computing_ || replicas_.values_of(shard) || is_of_other_history(progress))
      return learn(replica, std::move(progress), out);
    view.progress = std::move(progress);
    const std::uint32_t other = replicas_.source(shard, *t_);
    if (other != replica && !replicas_[other].is_beyond(*t_)) return pull(other, out);
    if (!has_backups_ && view.progress.doubled) return follow(replica, out);
    if (!has_backups_ && gone_at_ == t_) return restore(out);
    gone_at_ = t_;
    join_all(out);
  }

  /// The rows that the contribution of `step` needs, one a shard, as `Prepare` asked.
  void prepared(Step step, std::vector<WantedRows> rows, auto& out) {
    if (!t_ || done_ || step != *t_ + 1 || rows_.known_for(step)) return;  // overtaken
    rows_.know(step, std::move(rows));
    pull_all(out);
  }

  /// The contribution that `Compute` asked for: one block a shard; with tables also the rows that the next one needs.
  void computed(std::uint64_t ticket, std::vector<SharedBuffer> blocks, auto& out, std::vector<WantedRows> next = {}) {
    if (!computing_ || ticket != ticket_) return;  // overtaken by a restore
    computing_ = false;
    gone_at_.reset();
    buffer_.drop_through(common_cut());
    t_ = *t_ + 1;
    buffer_.keep(*t_, std::move(blocks));
    rows_.know(*t_ + 1, std::move(next));
    replicas_.want_anew();
    for (std::uint32_t replica = 0; replica < replicas_.size() && t_; ++replica) {
      if (has_backups_ && replicas_[replica].progress.done >= *t_) push(replica, *t_, out);  // to be counted as stale
      serve(replica, out, !stopping_ && replicas_.is_source(replica, *t_));
    }
    if (!t_) return;
    if (stopping_) return leave(out);
    pull_all(out);
  }

  /// Finish what is in flight, then leave: the job goes on another time.
  void stop(auto& out) {
    if (stopping_ || done_) return;
    stopping_ = true;
    if (!computing_) leave(out);
  }

  /// The newest step that is in every shard's list of cuts (rule 6).
  [[nodiscard]] auto common_cut() const -> Step { return replicas_.common_cut(); }

  /// Every shard has the cut N: wherever it was sent back to since, nothing is left to do.
  [[nodiscard]] auto everything_saved() const -> bool {
    return replicas_.all_saved(total_steps_) && replicas_.have_one_history();
  }

 private:
  using ReplicaView = detail::ReplicaView;

  // Not std::ranges::equal, which goes by the byte in libstdc++ 12.
  static auto is_same(const AlignedBuffer& a, const AlignedBuffer& b) noexcept -> bool {
    return a.size() == b.size() && (a.size() == 0 || std::memcmp(a.data(), b.data(), a.size()) == 0);
  }

  // Of a shard of an older version, which does not tell its history, the only one is that of the present settings.
  [[nodiscard]] auto known(Progress progress) const -> Progress {
    if (progress.history == 0) progress.history = only_settings_;
    return progress;
  }
  [[nodiscard]] auto is_of_other_history(const Progress& progress) const -> bool {
    return progress.history != history_;
  }

  void join_all(auto& out) {
    forget();
    if (stopping_) return leave(out);  // what was in flight is overtaken
    for (std::uint32_t replica = 0; replica < replicas_.size(); ++replica) out(SendJoin{replica});
  }

  // Rules 9 and 10: everybody to the newest cut that all have.
  void restore(auto& out) {
    const Step cut = common_cut();
    forget();
    gone_at_.reset();
    if (stopping_) return leave(out);
    for (std::uint32_t replica = 0; replica < replicas_.size(); ++replica) out(SendRestore{replica, cut});
  }

  // Shards are of different histories: everybody to the newest cut that is the same on all.
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

  // Rule 9, where another process of this rank goes on: so does this one, beside it. What shards that are behind have
  // not yet is left to that one.
  void follow(std::uint32_t replica, auto& out) {
    const Step from = *std::exchange(t_, replicas_[replica].progress.done);
    replicas_.leave(replica, from, *t_);
    replicas_.want_anew();
    if (!rows_.known_for(*t_ + 1)) out(Prepare{*t_ + 1});
    pull_all(out);
  }

  // Who told of that process may have lost it.
  void doubt(std::uint32_t replica, auto& out) {
    if (!replicas_[replica].witness) return;
    replicas_.take_back();
    for (std::uint32_t other = 0; other < replicas_.size() && t_; ++other) serve(other, out);
  }

  // Every shard has answered: t is the smallest k (rule 7), that of a shard the largest of its replicas.
  void begin(auto& out) {
    if (!replicas_.have_one_history()) return join_histories(out);
    const auto joined = std::ranges::find_if(replicas_, &ReplicaView::joined);
    if (joined->progress.history != history_) buffer_.clear();  // what it has was made from other values
    history_ = joined->progress.history;
    t_ = replicas_.least_done();
    while (has_backups_ && buffer_.has(*t_ + 1)) ++*t_;  // a shard came back, and these are made already
    buffer_.drop_after(*t_);  // made again from here
    if (everything_saved() && (!wants_result_ || *t_ < total_steps_)) return go_on(out);
    if (!rows_.known_for(*t_ + 1)) out(Prepare{*t_ + 1});
    for (std::uint32_t replica = 0; replica < replicas_.size() && t_; ++replica) {
      if (replicas_.is_source(replica, *t_)) pull(replica, out);
      serve(replica, out);
    }
  }

  // The values of t; not before it is known which rows are wanted with them.
  void pull(std::uint32_t replica, auto& out) {
    if (!rows_.known_for(*t_ + 1)) return;
    ReplicaView& view = replicas_[replica];
    const bool apart = has_backups_ && gone_at_ == t_ && view.progress.done > *t_;
    view.asked = apart ? view.progress.done : *t_;
    out(SendPull{replica, *view.asked, rows_.of(replicas_.shard_of(replica))});
  }
  void pull_all(auto& out) {
    for (std::uint32_t shard = 0; shard < replicas_.shards(); ++shard) pull(replicas_.source(shard, *t_), out);
  }

  void push(std::uint32_t replica, Step step, auto& out, bool pull_follows = false) const {
    const SharedBuffer& block = buffer_.block(step, replicas_.shard_of(replica));
    out(SendPush{replica, {step, rank_, block, 0, common_cut(), history_}, pull_follows});
  }

  // Sends what the shard does not have yet, as far as it stores ahead (rules 3 and 8). What is not kept: rule 10; with
  // backup workers the other ranks may have it, until the shard waits for just that; a replica takes the state of
  // another one.
  void serve(std::uint32_t replica, auto& out, bool pull_follows = false) {
    ReplicaView& view = replicas_[replica];
    if (replicas_.replicated() && !view.live && !view.lame) return;
    if (view.progress.no_values && buffer_.has(0) && !std::exchange(view.begun, true)) push(replica, 0, out);
    Step last = std::min(*t_, view.progress.done + window_);
    for (Step step = std::max(view.sent, view.progress.done) + 1; step <= last; ++step) {
      if (!buffer_.has(step)) {
        if (replicas_.is_left(step)) continue;
        if (view.lame) continue;  // somebody else may have sent it
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
      out(SendPull{replica, last});  // answered when there is room for the rest
  }

  // A replica that was lost, joined anew or is left behind may be waited for in vain: the others are asked as well,
  // even those that were not ahead of it when they were last heard.
  void ask_another(std::uint32_t replica, auto& out) {
    const std::uint32_t shard = replicas_.shard_of(replica);
    if (computing_ || replicas_.values_of(shard) || !replicas_.some_of(shard, &ReplicaView::doubtful)) return;
    for (std::uint32_t other = shard; other < replicas_.size(); other += replicas_.shards())
      if (replicas_[other].asked != t_ && replicas_.may_give(other, *t_)) pull(other, out);
  }

  // A replica that cannot be served catches up with another one. Whether it does, or may when that has joined.
  auto find_help(std::uint32_t replica, auto& out) -> bool {
    ReplicaView& view = replicas_[replica];
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

  // Those that could not be helped, and at the end those that are behind: who could serve them may have gone home.
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

  // What another replica of the same shard is or no longer is may be what these waited for.
  void serve_siblings(std::uint32_t replica, auto& out) {
    const std::uint32_t first = replicas_.shard_of(replica);
    for (std::uint32_t other = first; other < replicas_.size() && t_; other += replicas_.shards())
      if (other != replica) serve(other, out);
  }

  void learn(std::uint32_t replica, Progress progress, auto& out) {
    replicas_[replica].learn(known(std::move(progress)));
    if (!t_ || done_) return;
    if (is_of_other_history(replicas_[replica].progress)) return join_all(out);
    serve(replica, out);
    if (t_ && replicas_.replicated()) ask_another(replica, out);
    if (t_) go_on(out);
  }

  // The end (rule 12); or, when the values of t are all here, the next contribution.
  void go_on(auto& out) {
    if (!t_ || done_) return;
    if (everything_saved()) return end(out);
    if (replicas_.replicated()) help(out);
    if (computing_ || stopping_ || *t_ >= total_steps_) return;
    if (!replicas_.some_of_each(&ReplicaView::got)) return;
    buffer_.drop_through(common_cut());
    if (buffer_.full() && !replicas_.some_ahead(*t_)) {  // whoever is waits for no room here
      const auto has_no_room = [](const ReplicaView& v) { return v.live && v.progress.no_room; };
      const bool may_move = std::ranges::none_of(replicas_, has_no_room);
      if (may_move || *t_ >= ask_again_) ask_for_cuts(out);
      if (may_move) return;  // rule 6: until the common cut moves
      if (*t_ >= ask_again_) ask_again_ = *t_ + buffer_.steps();
      buffer_.make_room();  // which it cannot: should a shard be lost, everybody goes back to it
    }
    computing_ = true;
    out(Compute{*t_ + 1, ++ticket_, replicas_.all_values()});
  }

  // A worker that wants the result takes it before it says goodbye; shards that somebody sent back go to their cut N
  // for it.
  void end(auto& out) {
    WorkerDone ended;
    if (wants_result_ && !stopping_) {
      const auto is_there = [this](const ReplicaView& v) { return v.progress.done >= total_steps_; };
      if (*t_ < total_steps_ || !replicas_.some_of_each(is_there)) return has_backups_ ? join_all(out) : restore(out);
      if (!replicas_.some_of_each(&ReplicaView::got)) return;
      ended.result = replicas_.all_values();
    }
    done_ = true;
    computing_ = false;
    for (std::uint32_t replica = 0; replica < replicas_.size(); ++replica)  // it lingers for one that is behind
      replicas_.some_lack(total_steps_, replica) ? out(SendLeave{replica}) : out(SendGoodbye{replica});
    out(std::move(ended));
  }

  // The next cut that is due may lie beyond what the buffer allows; but every shard comes to t and can make one there.
  void ask_for_cuts(auto& out) {
    for (std::uint32_t replica = 0; replica < replicas_.size(); ++replica) {
      ReplicaView& view = replicas_[replica];
      if (view.progress.done == *t_ && std::exchange(view.cut_asked, *t_) != *t_) out(SendSave{replica});
      if (view.live && view.progress.done < *t_ && view.asked != t_) pull(replica, out);  // to hear when it is there
    }
  }

  void leave(auto& out) {
    done_ = true;
    for (std::uint32_t replica = 0; replica < replicas_.size(); ++replica) out(SendLeave{replica});
    out(WorkerDone{.left = true});
  }

  Rank rank_;
  Step total_steps_;
  detail::ReplicaViews replicas_;
  ReplayBuffer buffer_;
  Step window_;
  bool wants_result_;
  bool has_backups_;
  std::uint64_t only_settings_;  // the number of the lineage that has no others; with backup workers 0
  std::uint64_t history_ = 0;  // of the shards, when all had joined
  detail::RowsToPull rows_;  // for the contribution after t
  std::optional<Step> t_;
  bool computing_ = false;
  std::uint64_t ticket_ = 0;
  Step ask_again_ = 0;  // for cuts, where a shard has no room for them
  std::optional<Step> gone_at_;
  bool stopping_ = false;
  bool done_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/impl/sync_worker_core.ipp>
#endif
