// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/detail/rows_to_pull.hpp>
#include <distrib/ps/protocol/detail/step_counts.hpp>
#include <distrib/ps/protocol/replay_buffer.hpp>
#include <distrib/ps/protocol/worker_action.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// One worker of an asynchronous or stale-synchronous job. After its contribution t it pulls values, makes contribution
/// t + 1, sends it to all shards and keeps it until every shard has it in a cut. How far ranks may be apart is decided
/// by the shards. The rules are in docs/design/protocol.md, section "Asynchronous and stale-synchronous jobs"; numbers
/// in comments name them.
///
/// With `WorkerOptions::on_demand` a contribution is made only after `want`, and may be any: another process of the
/// rank would make another one. So each shard counts for itself: the next contribution counts on every shard, whatever
/// the shard has counted before, and nothing is made again. docs/design/coordinator.md says why.
///
/// In a job whose ranks change (`Job::most_ranks`) the worker expects its next contribution where the logs of all shards
/// say, and asks for the values after the step before that one. The answers of all shards settle which ranks make that
/// step. If the log changes while it waits, it asks for other values. When its rank is in no later step, and everything
/// that it made is in a cut of all shards, it leaves (`WorkerDone::retired`). A worker that has made nothing, or that
/// keeps nothing (`WorkerOptions::replay_budget_bytes` is 0), stays until the job is over, or until it is stopped.
///
/// Events in, actions out; no clock, no I/O, no thread. Each action is one call `out(action)`, in the order to be
/// performed in; `out` must not call the core. A restart of the worker is the same as its first start.
///
/// Threads: one at a time.
class AsyncWorkerCore {
 public:
  static constexpr bool is_synchronous = false;  ///< As `Consistency::is_synchronous` of its jobs.

  DISTRIB_DECL AsyncWorkerCore(const Job& job, Rank rank, WorkerOptions options = {});

  /// Returns the last contribution that was made; 0 before all shards have answered.
  [[nodiscard]] auto step() const noexcept -> Step { return t_.value_or(0); }

  /// Returns the bytes of the contributions that are kept to be sent again (`WorkerOptions::replay_budget_bytes`).
  [[nodiscard]] auto replay_bytes() const noexcept -> std::size_t { return buffer_.bytes(); }

  /// Returns the last contribution that all shards have counted, as far as is known; 0 before all have answered.
  [[nodiscard]] auto counted() const -> Step { return t_ ? std::min(*t_, counted_.least()) : 0; }
  /// True if the worker waits for something from this shard: to be joined, for values, that it counts a contribution,
  /// or for a cut because the buffer is full.
  [[nodiscard]] auto awaits(std::uint32_t shard) const -> bool {
    const ShardView& view = shards_[shard];
    if (!view.joined || !t_ || view.counted() < *t_) return true;
    return (asked() && !computing_ && view.got == nullptr) || (buffer_.full() && view.durable() < *t_);
  }

  /// Joins all shards.
  void start(auto& out) {
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) out(SendJoin{shard});
  }

  /// The connection to a shard was lost and is open again: joins again, because it is unknown what arrived.
  void reconnected(std::uint32_t shard, auto& out) { out(SendJoin{shard}); }

  /// The shard answers `SendJoin`, or a push that it could not count: contributions are missing before it, or the shard
  /// has no values yet. `progress`: how many contributions of this rank the shard has counted.
  void joined(std::uint32_t shard, Progress progress, auto& out) {
    ShardView& view = shards_[shard];
    hear(shard, progress);
    set(view, std::move(progress), view.behind);
    if (view.progress.no_values && buffer_.has(0)) push(shard, 0, out);
    if (!view.joined) {
      view.joined = true;
      if (!t_ && every_shard([](const ShardView& v) { return v.joined; })) begin(out);
    } else if (t_) {
      serve(shard, out);
      ask_anew(out);
      go_on(out);  // a cut of that shard may be what the worker waited for
    }
  }

  /// The shard reports its progress without being asked.
  void notice(std::uint32_t shard, Progress progress, auto& out) { learn(shard, std::move(progress), out); }
  /// The shard answers a push.
  void pushed(std::uint32_t shard, Progress progress, auto& out) { learn(shard, std::move(progress), out); }

  /// The shard answers a pull after contribution `finished`. Values for another contribution than the next are dropped.
  void values(std::uint32_t shard, Step finished, SharedBuffer block, Progress progress, auto& out) {
    if (finished == asked() && !computing_ && rows_.fit(*t_ + 1, shard, block)) shards_[shard].got = std::move(block);
    learn(shard, std::move(progress), out);
  }

  /// With `on_demand`: asks all shards for their newest values; `Compute` follows. The result of an earlier `Compute`
  /// is dropped.
  void want(auto& out) {
    if (done_ || stopping_ || finishing_) return;
    wants_ = true;
    computing_ = false;
    ++ticket_;
    if (t_) ask(out);
  }

  /// With `on_demand`: no contribution follows. Ends when every shard has all contributions in a durable cut.
  void finish(auto& out) {
    if (done_ || stopping_ || std::exchange(finishing_, true)) return;
    wants_ = computing_ = false;
    if (t_) end_here(out);
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
    if (!computing_ || ticket != ticket_) return;  // too late: a shard asked for a contribution that is no longer kept
    computing_ = false;
    t_ = last_made_ = making_;
    buffer_.drop_through(durable());
    buffer_.keep(*t_, std::move(blocks));
    wants_ = false;
    if (!next.empty()) rows_.know(*t_ + 1, std::move(next));
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) push(shard, *t_, out);
    if (stopping_) return leave(out);
    ask_to_save(out);
    ask(out);
  }

  /// Finishes the contribution that is being computed, then leaves: `WorkerDone` with `left`. The job continues another
  /// time.
  void stop(auto& out) {
    if (stopping_ || done_) return;
    stopping_ = true;
    if (!computing_ || on_demand_) leave(out);
  }

  /// Leaves at once: the contribution that `Compute` asked for will not be made.
  void abandon(auto& out) {
    if (done_) return;
    stopping_ = true;
    computing_ = false;
    leave(out);
  }

  /// True if every shard has all contributions of this rank in a durable cut; in a job whose ranks change, those of all
  /// ranks.
  [[nodiscard]] auto everything_saved() const -> bool {
    return log_ ? every_shard([](const ShardView& v) { return v.is_over(); }) : durable() >= last_;
  }

 private:
  struct ShardView {
    Progress progress;  // done: the last contribution of this rank counted; cuts: the last one in a durable cut
    bool joined = false;
    bool asked_to_save = false;  // since the buffer became short of room
    Step behind = 0;  // on demand: contribution n of the worker is number n - behind of this shard
    SharedBuffer got;

    [[nodiscard]] auto counted() const -> Step { return progress.done + behind; }
    [[nodiscard]] auto durable() const -> Step { return (progress.cuts.empty() ? 0 : progress.cuts.front()) + behind; }
    // The ranks change: true if a durable cut has all contributions of the job.
    [[nodiscard]] auto is_over() const -> bool { return !progress.cuts.empty() && progress.cuts.back() == end_of_job; }
  };

  // True if the condition holds for all shards.
  auto every_shard(auto is_like_that) const -> bool {
    for (const ShardView& view : shards_)
      if (!is_like_that(view)) return false;
    return true;
  }

  [[nodiscard]] auto durable() const -> Step { return std::min(last_, durable_.least()); }

  // --- ranks that change ---

  // A shard tells its log: adds it to what is known, the union of the logs of all shards (E4). Entries up to the step
  // after s that a shard ever has, it tells with the values after s.
  void hear(std::uint32_t shard, const Progress& progress) {
    if (!log_ || progress.ranks == nullptr || heard_[shard] == progress.ranks) return;
    log_->add(*progress.ranks);
    heard_[shard] = progress.ranks;
  }

  // Returns the contribution that this rank makes after `step`; 0: none, as far as is known.
  [[nodiscard]] auto following(Step step) const -> Step {
    if (log_) return log_->next_step(step, rank_, total_steps_);
    return step < last_ ? step + 1 : 0;
  }

  // True if no contribution follows, as far as is known.
  [[nodiscard]] auto is_at_end() const -> bool {
    return log_ ? following(*t_) == 0 || everything_saved() : *t_ >= last_;
  }

  // True if nobody will ask this rank for anything any more, as far as is known.
  [[nodiscard]] auto is_retired() const -> bool {
    return retires_ && last_made_ != 0 && !log_->is_rank_after(*t_, rank_) && durable() >= *t_;
  }

  // The log has changed, so that other values are needed than were asked for.
  void ask_anew(auto& out) {
    if (log_ && t_ && !computing_ && !stopping_ && !done_ && asked() != asked_) ask(out);
  }

  void retire(auto& out) {
    done_ = true;
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) out(SendGoodbye{shard});
    out(WorkerDone{.left = true, .retired = true});
  }

  // Changes what is known of a shard.
  void set(ShardView& view, Progress progress, Step behind) {
    const auto [counted, durable] = std::pair{view.counted(), view.durable()};
    view.progress = std::move(progress);
    view.behind = behind;
    counted_.move(counted, view.counted());
    durable_.move(durable, view.durable());
  }

  // Every shard has answered: continue after the smallest number counted. Shards that are ahead drop the repeats (rule
  // 4).
  void begin(auto& out) {
    t_ = shards_.front().progress.done;
    for (const ShardView& view : shards_)
      t_ = on_demand_ ? std::max(*t_, view.progress.done) : std::min(*t_, view.progress.done);
    if (on_demand_)
      for (ShardView& view : shards_) set(view, view.progress, *t_ - view.progress.done);
    if (finishing_) return end_here(out);
    ask(out);
    go_on(out);
  }

  // Asks each shard for a cut: once each time that the buffer becomes short of room, because the contributions on their
  // way when a cut becomes durable would ask for another one; and with every contribution while the buffer is full or
  // the shard reports that its cuts find no disk space.
  void ask_to_save(auto& out) {
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) {
      ShardView& view = shards_[shard];
      const bool asked = std::exchange(view.asked_to_save, buffer_.filling());
      if (view.asked_to_save && (!asked || buffer_.full() || view.progress.no_room)) out(SendSave{shard});
    }
  }

  void push(std::uint32_t shard, Step step, auto& out) {
    const Step number = step == 0 ? 0 : step - shards_[shard].behind;
    Contribution given{number, rank_, buffer_.block(step, shard), 0, durable()};
    if (log_ && step != 0) {
      given.entry = log_->entry_of(step);
      given.after = log_->step_before(step, rank_);
    }
    out(SendPush{shard, std::move(given)});
  }

  // What is pulled: values for the next contribution, named by the step before it. After the last one: nothing, or the
  // values at the end of the job.
  [[nodiscard]] auto asked() const -> std::optional<Step> {
    if (t_ && is_at_end()) return wants_result_ ? std::optional{end_of_job} : std::nullopt;
    if (on_demand_ && !wants_) return std::nullopt;
    if (t_ && log_) return following(*t_) - 1;
    return t_;
  }

  void ask(auto& out) {
    for (ShardView& view : shards_) view.got = nullptr;
    with_values_ = 0;
    asked_ = asked();
    if (retires_ && is_at_end())  // the job may go on for long without this rank
      for (std::uint32_t shard = 0; shard < shards_.size(); ++shard)
        if (shards_[shard].durable() < *t_) out(SendSave{shard});
    if (!asked_) return;
    if (!rows_.known_for(*t_ + 1)) return out(Prepare{*t_ + 1});
    pull_all(out);
  }

  // Only when it is known which rows are wanted.
  void pull(std::uint32_t shard, auto& out) const {
    if (rows_.known_for(*t_ + 1)) out(SendPull{shard, *asked(), rows_.of(shard)});
  }
  void pull_all(auto& out) const {
    for (std::uint32_t shard = 0; shard < shards_.size() && asked(); ++shard) pull(shard, out);
  }

  // A shard reports how many contributions of this rank it has counted. Send the following ones, or make them again if
  // they are no longer kept (rule 5).
  void serve(std::uint32_t shard, auto& out) {
    if (on_demand_) skip_lost(shards_[shard]);
    const Step counted = shards_[shard].counted();
    for (Step step = following(counted); step != 0 && step <= *t_; step = following(step))
      if (!buffer_.has(step)) {
        t_ = counted;
        computing_ = false;
        ++ticket_;
        buffer_.clear();
        if (stopping_) return leave(out);  // the result of the computation would be dropped
        return ask(out);
      }
    for (Step step = following(counted); step != 0 && step <= *t_; step = following(step)) push(shard, step, out);
    // the shard may have lost the contributions of other ranks in these values
    if (is_at_end()) {
      shards_[shard].got = nullptr;
      with_values_ = 0;
    }
    if (is_at_end() || buffer_.filling()) out(SendSave{shard});  // the shard has forgotten earlier requests
    if (asked() && shards_[shard].got == nullptr) pull(shard, out);
  }

  // On demand: the shard goes on with the oldest contribution that is kept after those that it has counted.
  void skip_lost(ShardView& view) {
    Step next = view.counted() + 1;
    while (next <= *t_ && !buffer_.has(next)) ++next;
    set(view, view.progress, next - 1 - view.progress.done);
  }

  void end_here(auto& out) {
    last_ = *t_;
    if (!everything_saved())
      for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) out(SendSave{shard});
    go_on(out);
  }

  void learn(std::uint32_t shard, Progress progress, auto& out) {
    ShardView& view = shards_[shard];
    const Step before = view.durable();
    hear(shard, progress);
    set(view, std::move(progress), view.behind);
    ask_anew(out);
    go_on(out);
    const bool has_part = before < view.durable() && view.durable() < step();
    // the shard made no further cut, because it expected this one to be enough; it was not
    const bool waits_for_more = buffer_.full() || (retires_ && t_ && is_at_end());
    if (has_part && !computing_ && !done_ && waits_for_more) out(SendSave{shard});
  }

  void go_on(auto& out) {
    if (!t_ || computing_ || done_ || stopping_) return;
    if (is_at_end()) {
      if (is_retired()) return retire(out);
      if (!everything_saved() || (wants_result_ && !has_all())) return;
      WorkerDone ended;
      for (ShardView& view : shards_)
        if (wants_result_) ended.result.push_back(std::move(view.got));
      done_ = true;
      for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) out(SendGoodbye{shard});
      return out(std::move(ended));
    }
    if ((on_demand_ && !wants_) || !has_all()) return;
    buffer_.drop_through(durable());
    if (buffer_.full()) {
      if (every_shard([](const ShardView& v) { return !v.progress.no_room; }))
        return;  // rule 3: wait until every shard has a cut
      // There will be no such cut soon. If a shard is lost, the dropped contributions are made again.
      buffer_.make_room();
    }
    computing_ = true;
    making_ = following(*t_);
    Compute work{making_, ++ticket_, {}};
    for (const ShardView& view : shards_) work.values.push_back(view.got);
    if (log_) work.entry = log_->entry_of(making_);
    if (log_) work.number = log_->number_of(making_, rank_);
    out(std::move(work));
  }

  [[nodiscard]] auto has_all() -> bool {
    while (with_values_ < shards_.size() && shards_[with_values_].got != nullptr) ++with_values_;
    return with_values_ == shards_.size();
  }

  void leave(auto& out) {
    done_ = true;
    for (std::uint32_t shard = 0; shard < shards_.size(); ++shard) out(SendLeave{shard});
    out(WorkerDone{.left = true});
  }

  Rank rank_;
  Step last_;
  std::vector<ShardView> shards_;
  detail::StepCounts counted_;  // how many shards have counted which contribution last,
  detail::StepCounts durable_;  // and have it in a durable cut
  std::size_t with_values_ = 0;  // so many shards, the first ones, are known to have sent their values
  ReplayBuffer buffer_;
  bool wants_result_;
  bool on_demand_;
  bool retires_;  // if its rank makes no further step
  detail::RowsToPull rows_;  // for the contribution after t
  std::uint64_t total_steps_;
  std::optional<RankLog> log_;  // of all shards, as far as is known; empty: the ranks of the job never change
  std::vector<SharedRankLog> heard_;  // by shard: what it told last
  std::optional<Step> t_;  // the last contribution of the rank that is made
  std::optional<Step> asked_;  // what `ask` has asked for
  bool computing_ = false;
  Step making_ = 0;  // what is computed
  Step last_made_ = 0;  // the last contribution of this process
  std::uint64_t ticket_ = 0;
  bool wants_ = false;  // on demand: a contribution is wanted
  bool finishing_ = false;  // on demand: t is the last contribution
  bool stopping_ = false;
  bool done_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/impl/async_worker_core.ipp>
#endif
