// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job.hpp>
#include <distrib/ps/messages.hpp>
#include <distrib/ps/replay_buffer.hpp>
#include <distrib/ps/replicas_to_aggregate.hpp>
#include <distrib/ps/worker_action.hpp>

#include <algorithm>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace distrib::inline v0 {

/// One worker of a synchronous job: waits for the values of step t from every shard, has the contribution t+1 made,
/// sends it to all, and keeps it until every shard has it in a cut. Serves shards that came back, sends everybody to
/// the common cut when it cannot. The rules are those of the protocol ("Synchronous rules").
///
/// With backup workers (`replicas_to_aggregate` of the job) nobody is sent back because of one: who is told Gone, or
/// cannot serve a shard, goes on at the smallest k. What he has not he makes again. When shards are so far apart that
/// no step is left that all of them give, because one came back, each gives the step where it is.
///
/// Events in, actions out; no clock, no I/O, no thread. Each action is told by a call of `out(action)`, in the
/// order to be performed in; `out` must not call the core. Threads: one at a time. The first start and every later one
/// are the same (rule 7).
class SyncWorkerCore {
 public:
  SyncWorkerCore(const Job& job, Rank rank, WorkerOptions options = {})
      : rank_{rank}, total_steps_{job.total_steps}, shards_(job.shards()), buffer_{options.replay_budget_bytes},
        window_{contribution_window(job)}, wants_result_{options.wants_result}, has_tables_{!job.tables.empty()},
        has_backups_{replicas_to_aggregate(job) < job.ranks}, wanted_(job.shards()) {}

  /// The step whose values the worker has or waits for.
  [[nodiscard]] auto step() const noexcept -> Step { return t_.value_or(0); }

  void start(auto& out) { join_all(out); }

  /// The connection to a shard was lost and is there again: what was on its way is unknown.
  void reconnected(std::uint32_t shard, auto& out) { out(SendJoin{shard}); }

  /// The answer to the newest SendJoin or to SendRestore, and what a shard says when anybody's Restore moved it: where it
  /// is. What it held of this worker's beyond `done` is unknown. Answers to older Joins are not passed on.
  void joined(std::uint32_t shard, Progress progress, auto& out) {
    ShardView& view = shards_[shard];
    view.progress = std::move(progress);
    view.sent = view.progress.done;
    view.awaited = 0;    // what it was asked before is forgotten
    view.cut_asked = 0;
    if (has_backups_) view.got = nullptr;  // it may have come back, and make other values of the same step
    if (!view.joined) {
      view.joined = true;
      if (every_shard([](const ShardView& v) { return v.joined; })) begin(out);
    } else if (t_) {
      serve(shard, out);
      if (t_) pull(shard, out);  // even when its values are here: the answer tells when it is there
      go_on(out);  // its cuts may be what was waited for
    }
  }

  /// What a shard tells unasked: how far it is, which cuts it has.
  void notice(std::uint32_t shard, Progress progress, auto& out) { learn(shard, std::move(progress), out); }

  void pushed(std::uint32_t shard, Progress progress, auto& out) { learn(shard, std::move(progress), out); }

  void values(std::uint32_t shard, Step step, SharedBuffer block, Progress progress, auto& out) {
    if (t_ && step == shards_[shard].asked && !computing_ && is_wanted(shard, block))
      shards_[shard].got = std::move(block);
    learn(shard, std::move(progress), out);
  }

  /// A shard no longer keeps the values of `step` (rule 9).
  void gone(std::uint32_t shard, Step step, Progress progress, auto& out) {
    ShardView& view = shards_[shard];
    if (!t_ || done_ || step != view.asked || computing_ || view.got) return learn(shard, std::move(progress), out);
    view.progress = std::move(progress);
    if (!has_backups_ && gone_at_ == t_) return restore(out);
    gone_at_ = t_;
    join_all(out);
  }

  /// The rows that the contribution of `step` needs, one a shard, as `Prepare` asked.
  void prepared(Step step, std::vector<WantedRows> rows, auto& out) {
    if (!t_ || done_ || step != *t_ + 1 || !has_tables_ || wanted_for_ == step) return;  // overtaken
    wanted_for_ = step;
    wanted_ = std::move(rows);
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
    if (has_tables_) {
      wanted_for_ = *t_ + 1;
      wanted_ = std::move(next);
    }
    for (ShardView& view : shards_) view.got = nullptr;
    for (std::uint32_t shard = 0; shard < shards_.size() && t_; ++shard) {
      if (has_backups_ && shards_[shard].progress.done >= *t_) push(shard, *t_, out);  // too late: to be counted as such
      serve(shard, out, !stopping_);
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
  [[nodiscard]] auto common_cut() const -> Step {
    std::vector<Step> common = shards_.front().progress.cuts;
    for (const ShardView& view : shards_) {
      std::vector<Step> both;
      for (const Step cut : view.progress.cuts)
        if (std::binary_search(common.begin(), common.end(), cut)) both.push_back(cut);
      common = std::move(both);
    }
    return common.empty() ? 0 : common.back();
  }

  /// Every shard has the cut N: wherever it was sent back to since, nothing is left to do.
  [[nodiscard]] auto everything_saved() const -> bool {
    return every_shard([this](const ShardView& v) {
      return !v.progress.cuts.empty() && v.progress.cuts.back() >= total_steps_;
    });
  }

 private:
  struct ShardView {
    Progress progress;
    bool joined = false;
    Step sent = 0;       // contributions through this one were sent since it joined
    Step awaited = 0;    // pulled since it joined, to hear when it has room for more
    Step cut_asked = 0;  // asked since it joined to make a cut at this step
    std::optional<Step> asked;  // whose values are wanted of it: t, or with backup workers a later one
    SharedBuffer got;           // these values
  };

  // Whether all shards are like that.
  auto every_shard(auto is_like_that) const -> bool {
    for (const ShardView& view : shards_)
      if (!is_like_that(view)) return false;
    return true;
  }

  void join_all(auto& out) {
    forget();
    if (stopping_) return leave(out);  // what was in flight is overtaken
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) out(SendJoin{shard});
  }

  // Rules 9 and 10: everybody to the newest cut that all have.
  void restore(auto& out) {
    const Step cut = common_cut();
    forget();
    gone_at_.reset();
    if (stopping_) return leave(out);
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) out(SendRestore{shard, cut});
  }

  void forget() {
    t_.reset();
    computing_ = false;
    ++ticket_;
    for (ShardView& view : shards_) {
      view.joined = false;
      view.asked.reset();
      view.got = nullptr;
    }
  }

  // Every shard has answered: t is the smallest k (rule 7).
  void begin(auto& out) {
    t_ = shards_.front().progress.done;
    for (const ShardView& view : shards_) t_ = std::min(*t_, view.progress.done);
    while (has_backups_ && buffer_.has(*t_ + 1)) ++*t_;  // a shard came back, and these are made already
    buffer_.drop_after(*t_);  // made again from here
    if (everything_saved() && (!wants_result_ || *t_ < total_steps_)) return go_on(out);
    if (has_tables_ && wanted_for_ != *t_ + 1) out(Prepare{*t_ + 1});
    for (std::uint32_t shard = 0; shard < shards_.size() && t_; ++shard) {
      pull(shard, out);
      serve(shard, out);
    }
  }

  // The values of t; not before it is known which rows are wanted with them.
  void pull(std::uint32_t shard, auto& out) {
    if (has_tables_ && wanted_for_ != *t_ + 1) return;
    ShardView& view = shards_[shard];
    const bool apart = has_backups_ && gone_at_ == t_ && view.progress.done > *t_;
    view.asked = apart ? view.progress.done : *t_;
    out(SendPull{shard, *view.asked, has_tables_ ? wanted_[shard] : WantedRows{}});
  }
  void pull_all(auto& out) {
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) pull(shard, out);
  }

  // Not the answer to a pull that only asked when there is room.
  [[nodiscard]] auto is_wanted(std::uint32_t shard, const SharedBuffer& block) const -> bool {
    return !has_tables_ || (wanted_for_ == *t_ + 1 && block->size() == wanted_[shard].answer_bytes);
  }

  void push(std::uint32_t shard, Step step, auto& out, bool pull_follows = false) const {
    out(SendPush{shard, {step, rank_, buffer_.block(step, shard), 0, common_cut()}, pull_follows});
  }

  // Sends what the shard has not yet, as far as it stores ahead (rules 3 and 8); what is not kept: rule 10, or with
  // backup workers the other ranks may have it, until the shard waits for just that.
  void serve(std::uint32_t shard, auto& out, bool pull_follows = false) {
    ShardView& view = shards_[shard];
    Step last = std::min(*t_, view.progress.done + window_);
    for (Step step = std::max(view.sent, view.progress.done) + 1; step <= last; ++step) {
      if (!buffer_.has(step)) {
        if (!has_backups_) return restore(out);
        if (step == view.progress.done + 1) return join_all(out);
        last = step - 1;
        break;
      }
      push(shard, step, out, pull_follows);
      view.sent = step;
    }
    if (last < *t_ && std::exchange(view.awaited, last) != last)
      out(SendPull{shard, last});  // answered when there is room for the rest
  }

  void learn(std::uint32_t shard, Progress progress, auto& out) {
    ShardView& view = shards_[shard];
    progress.done = std::max(view.progress.done, progress.done);
    view.progress = std::move(progress);
    if (!t_ || done_) return;
    serve(shard, out);
    if (t_) go_on(out);
  }

  // The end (rule 12); or, when the values of t are all here, the next contribution.
  void go_on(auto& out) {
    if (!t_ || done_) return;
    if (everything_saved()) return end(out);
    if (computing_ || stopping_ || *t_ >= total_steps_) return;
    if (!every_shard([](const ShardView& v) { return v.got != nullptr; })) return;
    buffer_.drop_through(common_cut());
    if (buffer_.full() && !somebody_is_ahead()) {
      const bool may_move = every_shard([](const ShardView& v) { return !v.progress.no_room; });
      if (may_move || *t_ >= ask_again_) ask_for_cuts(out);
      if (may_move) return;  // rule 6: until the common cut moves
      if (*t_ >= ask_again_) ask_again_ = *t_ + buffer_.steps();
      buffer_.make_room();  // which it cannot: should a shard be lost, everybody goes back to it
    }
    computing_ = true;
    Compute work{*t_ + 1, ++ticket_, {}};
    for (const ShardView& view : shards_) work.values.push_back(view.got);
    out(std::move(work));
  }

  // Whoever wants the result takes it before he says goodbye; shards that somebody sent back go to their cut N for it.
  void end(auto& out) {
    WorkerDone ended;
    if (wants_result_ && !stopping_) {
      if (*t_ < total_steps_ || !every_shard([this](const ShardView& v) { return v.progress.done >= total_steps_; }))
        return has_backups_ ? join_all(out) : restore(out);
      for (const ShardView& view : shards_) {
        if (view.got == nullptr) return;
        ended.result.push_back(view.got);
      }
    }
    done_ = true;
    computing_ = false;
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) out(SendGoodbye{shard});
    out(std::move(ended));
  }

  // A shard that is beyond t has this rank's next contribution from another incarnation; others may wait for it.
  [[nodiscard]] auto somebody_is_ahead() const -> bool {
    return !every_shard([this](const ShardView& v) { return v.progress.done <= *t_; });
  }

  // The next cut that is due may lie beyond what the buffer allows; but every shard comes to t and can make one there.
  void ask_for_cuts(auto& out) {
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard)
      if (shards_[shard].progress.done == *t_ && std::exchange(shards_[shard].cut_asked, *t_) != *t_)
        out(SendSave{shard});
  }

  void leave(auto& out) {
    done_ = true;
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) out(SendLeave{shard});
    out(WorkerDone{.left = true});
  }

  Rank rank_;
  Step total_steps_;
  std::vector<ShardView> shards_;
  ReplayBuffer buffer_;
  Step window_;
  bool wants_result_;
  bool has_tables_;
  bool has_backups_;
  Step wanted_for_ = 0;              // the contribution that needs these rows; 0: it is not known which
  std::vector<WantedRows> wanted_;   // one a shard
  std::optional<Step> t_;
  bool computing_ = false;
  std::uint64_t ticket_ = 0;
  Step ask_again_ = 0;  // for cuts, where a shard has no room for them
  std::optional<Step> gone_at_;
  bool stopping_ = false;
  bool done_ = false;
};

}  // namespace distrib::inline v0
