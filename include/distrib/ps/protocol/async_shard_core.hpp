// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/detail/awaited_values.hpp>
#include <distrib/ps/protocol/detail/step_counts.hpp>
#include <distrib/ps/protocol/rank_log_core.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/shard_action.hpp>
#include <distrib/ps/store/shard_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <functional>
#include <limits>
#include <map>
#include <optional>
#include <set>
#include <span>
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// One shard of an asynchronous or stale-synchronous job. Counts the contributions of each rank once and in order,
/// applies each at once, and answers a pull when the asking rank is no further ahead of the slowest other rank than
/// `Consistency::bound_after` allows. A barrier is a bound of 0 after certain contributions. So it needs no state, and
/// it holds also when a shard or a rank is lost before or after it. The rules are in docs/design/protocol.md, section
/// "Asynchronous and stale-synchronous jobs"; numbers in comments name them.
///
/// In a job whose ranks change (`Job::most_ranks`) a rank makes only the steps that the log of the ranks names, and the
/// job has `Job::total_steps` contributions all the same: those with the first numbers. A contribution says which step
/// of its rank was before it, so that a gap is seen whatever the shard knows of the log. The host has work for
/// `rank_log`. Rules: docs/design/membership.md, "Asynchronous jobs".
///
/// Events in, actions out; no clock, no I/O, no thread. Each action is one call `out(action)`, in the order to be
/// performed in; `out` must not call the core. Memory: values and slots.
///
/// Threads: one at a time.
class AsyncShardCore {
 public:
  static constexpr bool is_synchronous = false;  ///< As `Consistency::is_synchronous` of its jobs.

  /// Makes a shard that starts with the job's initial values, or waits for them if they are custom.
  /// `table_budget_bytes`: see `ShardStore`, whose constructor may throw.
  DISTRIB_DECL AsyncShardCore(const Job& job, std::uint32_t shard, const JobUpdaters& updaters,
                              std::uint64_t table_budget_bytes = std::numeric_limits<std::uint64_t>::max());

  /// Makes a shard that continues from `newest`, its newest durable cut. If that was saved by another number of ranks,
  /// its contributions are divided equally among the ranks; in a job whose ranks change, `ps_errc::job_mismatch` is
  /// thrown as `std::system_error`: its numbers follow from the ranks that the job began with.
  DISTRIB_DECL AsyncShardCore(const Job& job, std::uint32_t shard, const JobUpdaters& updaters, const Cut& newest,
                              std::uint64_t table_budget_bytes = std::numeric_limits<std::uint64_t>::max());

  /// Returns how many contributions are counted, of all ranks together.
  [[nodiscard]] auto step() const noexcept -> Step { return counted_; }
  /// Returns what the shard keeps: the values as they are now.
  [[nodiscard]] auto store() noexcept -> ShardStore& { return store_; }
  [[nodiscard]] auto store() const noexcept -> const ShardStore& { return store_; }
  /// Returns the progress that is reported to `rank`, which must be a rank of the job.
  [[nodiscard]] auto progress(Rank rank) const -> Progress {
    Progress progress{applied_[rank], {durable_[rank]}, no_room_, awaited_.missing()};
    if (!rank_log_) return progress;
    progress.ranks = rank_log_->log();
    if (everything_saved()) progress.cuts.push_back(end_of_job);
    return progress;
  }

  /// True if a durable cut has all contributions of the job.
  [[nodiscard]] auto everything_saved() const -> bool { return rank_log_ ? saved_ >= total_ : everything_in(durable_); }
  /// Returns how many contributions, of all ranks together, are in the newest durable cut.
  [[nodiscard]] auto saved() const noexcept -> Step { return saved_; }

  /// Returns what the shard decides about the ranks of steps; null: the job's ranks never change. Its host opens it
  /// before the first other event.
  [[nodiscard]] auto rank_log() noexcept -> RankLogCore* { return rank_log_ ? &*rank_log_ : nullptr; }
  /// Returns the newest step that any rank has made here, for `RankLogCore::next_write`.
  [[nodiscard]] auto rank_step() const noexcept -> Step { return top_; }
  /// The file that `rank_log()->next_write` returned is durable: tells what may be told now.
  void ranks_written(auto& out) {
    rank_log_->written();
    follow_log(out);
    answer_parked(out);
    if (waits_for_log_ && !saving_ && durable_ != applied_) begin_save(out);
  }
  /// Returns the ranks that a worker must serve, as far as the shard knows, in a job whose ranks change: those that make
  /// a further step, and those that may have to send something again.
  [[nodiscard]] DISTRIB_DECL auto needed_ranks() const -> std::vector<Rank>;
  /// Returns `needed_ranks` if they may be others than at the last call; empty: they are not, or ranks never change.
  [[nodiscard]] auto take_needed_ranks() -> std::optional<std::vector<Rank>> {
    if (!rank_log_ || !std::exchange(needs_others_, false)) return std::nullopt;
    return needed_ranks();
  }

  /// A worker of `rank` joins on this connection. Answered with `JoinedReply`.
  ///
  /// Errors: `RefusedReply` with `ps_errc::unknown_rank`.
  void join(Peer peer, Rank rank, auto& out) {
    if (rank >= applied_.size()) return out(RefusedReply{peer, ps_errc::unknown_rank, 0, rank});
    peers_[peer] = rank;
    follow_log(out);
    if (rank_log_) goodbyes_.erase(rank);  // it is named again, or another process of it has come
    out(JoinedReply{peer, progress(rank)});
  }

  /// The connection of `peer` is lost: its pulls are dropped.
  void disconnect(Peer peer, auto&) {
    peers_.erase(peer);
    std::erase_if(parked_, [peer](const Parked& pull) { return pull.peer == peer; });
  }

  /// A contribution has arrived. If it is the rank's next, counts and applies it. If it was counted before, drops it.
  /// Both are answered with `PushedReply`. If contributions of the rank are missing before it, or the shard has no
  /// values yet, drops it and answers `JoinedReply`: the worker sends again what follows `Progress::done`. Contribution
  /// 0: the first one sets the custom initial values.
  ///
  /// Errors: `RefusedReply` with `ps_errc::unknown_rank`, an error of `ShardStore::read`, or `budget_exceeded`; nothing
  /// has changed. In a job whose ranks change `unknown_rank` also if the contribution does not state ranks of the job, or
  /// ranks without its own; `ranks_differ` if the shard has counted a step of the rank that the contribution passes
  /// over. Contribution 0: `wrong_size` or `bad_initial_values`, and the shard still waits for its values. With
  /// `not_repeatable` (a repeat of contribution 0 with another checksum) `PushedReply` follows.
  void push(Peer peer, Contribution contribution, auto& out) {
    const auto [step, rank] = std::pair{contribution.step, contribution.rank};
    if (rank >= applied_.size()) return out(RefusedReply{peer, ps_errc::unknown_rank, step, rank});
    if (step == 0) return begin(peer, contribution, out);
    if (rank_log_) {
      if (const std::error_code bad = hear(contribution)) return out(RefusedReply{peer, bad, step, rank});
      follow_log(out);
    }
    const Step before = rank_log_ ? contribution.after : step - 1;
    const double factor = contribution.entry == nullptr ? 1.0 : contribution.entry->factor_of(step);
    const std::size_t bytes = contribution.block == nullptr ? 0 : contribution.block->size();
    auto [given, bad] = store_.read(std::move(contribution.block));
    if (bad) return out(RefusedReply{peer, bad.code, step, rank, std::move(bad.where)});
    if (before > applied_[rank] || awaited_.missing()) return out(JoinedReply{peer, progress(rank)});
    if (step > applied_[rank]) {
      std::error_code ec;
      store_.apply(this->step() + 1, std::span{&given, 1}, ec, factor);
      if (ec) return out(RefusedReply{peer, ec, step, rank});
      const bool may_release = count(rank, step);
      kept_[rank].since += bytes;
      if (cut_interval_ != 0 && this->step() % cut_interval_ == 0) save(out);
      else if (everything_counted()) save(out);  // the last cut is due, whatever the interval
      if (may_release) answer_parked(out);
    }
    out(PushedReply{peer, step, progress(rank)});
  }

  /// A worker has finished its contribution `finished` and asks for values and `rows`. Answered with `ValuesReply` when
  /// the shard has its initial values and the bound allows it; parked until then. In a job whose ranks change also
  /// until the ranks of the step after `finished` cannot change any more, and a rank has made `finished`. `end_of_job`:
  /// answered when the contributions of all ranks are in a durable cut. Ignored if the peer has not joined.
  ///
  /// Errors: `RefusedReply` with `ps_errc::no_such_row` if `rows` are not of this shard.
  void pull(Peer peer, Step finished, auto& out, PullRows rows = {}) {
    const auto found = peers_.find(peer);
    if (found == peers_.end()) return;
    if (const std::error_code bad = store_.check(rows)) return out(RefusedReply{peer, bad, finished, found->second});
    const auto is_early = [&] {
      if (finished == end_of_job) return !everything_saved();
      if (rank_log_ && (!rank_log_->may_tell(finished) || finished > top_)) return true;
      return ahead(found->second, finished) > consistency_.bound_after(finished);
    };
    if (awaited_.missing() || is_early()) return parked_.push_back({peer, finished, std::move(rows)});
    out(ValuesReply{peer, finished, store_.values(rows), progress(found->second), step()});
  }

  /// A worker asks for a cut, because its buffer fills. If the cut that is being written holds more than half of the
  /// bytes of that rank that no durable cut holds, makes no further cut: when that cut is durable, the worker has room
  /// again, or asks again. Otherwise as `save(out)`.
  void save(Peer peer, auto& out) {
    const auto found = peers_.find(peer);
    if (saving_ && found != peers_.end() && kept_[found->second].since < kept_[found->second].in_cut) return;
    save(out);
  }

  /// Makes a cut soon. If another cut is being written, the new one is made after it; in a job whose ranks change, when
  /// all entries that the shard has heard of are durable. If there is nothing new to save,
  /// only sends notices.
  void save(auto& out) {
    if (saving_) again_ = true;
    else if (durable_ != applied_) begin_save(out);
    else notice(out);  // nothing new to save, which the asking worker may not know
  }

  /// Copies the next piece of the cut, as `CopyCut` asked. When the copy is complete, the action `SaveCut` follows.
  void copy_cut(std::size_t most_bytes, auto& out) {
    if (store_.copy_cut(most_bytes)) out(store_.take_cut());
    else out(CopyCut{});
  }

  /// The cut of `step` that `SaveCut` asked for is durable. Ignored for another step.
  void cut_saved(Step step, auto& out) {
    if (!saving_ || saving_->step != step) return;
    durable_ = std::exchange(saving_, std::nullopt)->applied;
    saved_ = step;
    no_room_ = false;
    if (std::exchange(again_, false) && durable_ != applied_) begin_save(out);
    notice(out);
    if (everything_saved()) answer_parked(out);
    finish(out);
  }

  /// There was no disk space for the cut that `SaveCut` asked for. The notices report this, so
  /// that workers do not wait for it.
  void no_room(auto& out) {
    no_room_ = true;
    notice(out);
  }

  /// Called when the pause after `no_room` is over. Gives up the cut that did not fit. Makes a new one if one was asked
  /// for meanwhile, or if all contributions of the job are counted, because workers wait for the last cut.
  void save_again(auto& out) {
    if (!saving_) return;
    saving_.reset();
    for (Kept& kept : kept_) kept.since += std::exchange(kept.in_cut, 0);
    if (std::exchange(again_, false) || everything_counted()) begin_save(out);
  }

  /// The rank of `peer` is done. `ShardDone` follows when all ranks have said goodbye and the last cut is durable. In a
  /// job with `open_end`, what the rank has made so far is all of it. In a job whose ranks change, what it has made so far
  /// is in durable cuts of all shards; it may join again, and the shard waits only for the ranks of the last step. Ignored
  /// if the peer has not joined.
  void goodbye(Peer peer, auto& out) {
    if (const auto found = peers_.find(peer); found != peers_.end()) {
      goodbyes_.insert(found->second);
      if (rank_log_) retired_[found->second] = durable_[found->second];
      needs_others_ = true;
      if (has_open_end_) last_[found->second] = applied_[found->second];
    }
    finish(out);
  }

 private:
  struct Parked {
    Peer peer;
    Step finished;
    PullRows rows;
  };
  struct Saving {
    Step step;
    std::vector<Step> applied;
  };
  // Bytes of the contributions of one rank that no earlier cut holds: those in the cut that is being written, and those
  // that arrived since it began.
  struct Kept {
    std::size_t in_cut = 0, since = 0;
  };

  // The shard continues from contributions that are in a cut.
  DISTRIB_DECL void begin_at(std::vector<Step> applied);
  // The same, in a job whose ranks change.
  DISTRIB_DECL void begin_at(const Cut& cut, Rank began_with);

  // --- ranks that change ---

  // E4: a contribution states the ranks of its step. Returns why it is refused.
  DISTRIB_DECL auto hear(const Contribution& given) -> std::error_code;
  // The place of a rank has changed: which contribution it makes next.
  DISTRIB_DECL void place(Rank rank);
  // Places all ranks by the present log. Returns false if the log is the same, or the first one.
  DISTRIB_DECL auto place_by_log() -> bool;
  // True if each rank of the last step has said goodbye.
  [[nodiscard]] DISTRIB_DECL auto all_said_goodbye() const -> bool;

  // If the log has changed, workers hear it at once: a rank may be named that waits for something else.
  void follow_log(auto& out) {
    if (!rank_log_ || !place_by_log()) return;
    notice(out);
    answer_parked(out);
  }

  // Contribution 0.
  void begin(Peer peer, const Contribution& given, auto& out) {
    const std::error_code bad = awaited_.take(given, store_);
    if (!bad) answer_parked(out);
    if (bad) out(RefusedReply{peer, bad, 0, given.rank});
    if (!bad || bad == ps_errc::not_repeatable) out(PushedReply{peer, 0, progress(given.rank)});
  }

  // Counts a contribution of `rank`. Returns true if the slowest rank, or the slowest beside it, has advanced: only
  // then a rank is less far ahead of the slowest other rank than before. Ranks that change: also if `step` is new.
  auto count(Rank rank, Step step) -> bool {
    const auto slowest = [this] {
      return at_.empty() ? std::pair{end_of_job, end_of_job} : std::pair{at_.least(), at_.second()};
    };
    const auto before = slowest();
    if (!rank_log_) at_.move(applied_[rank], step);
    applied_[rank] = step;
    ++counted_;
    if (rank_log_) place(rank);
    const bool is_new = rank_log_ && step > top_;
    top_ = std::max(top_, step);
    return is_new || slowest() != before;
  }

  // How many contributions `rank`, which has made `finished`, is ahead of the slowest other rank.
  auto ahead(Rank rank, Step finished) const -> Step {
    if (applied_.size() == 1) return 0;
    if (rank_log_) {  // a rank that makes no further step is not waited for
      if (at_.empty()) return 0;
      const Step slowest = places_[rank] == end_of_job ? at_.least() : at_.least_beside(places_[rank]);
      return finished - std::min(finished, slowest);
    }
    return finished - std::min(finished, at_.least_beside(applied_[rank]));
  }

  // True if all contributions of the job are counted: then the last cut is due. In a job whose ranks change their number
  // says so, whatever the log is.
  [[nodiscard]] auto everything_counted() const -> bool {
    return rank_log_ ? counted_ >= total_ : everything_in(applied_);
  }

  // True if `counted` holds every rank's last contribution.
  auto everything_in(const std::vector<Step>& counted) const -> bool {
    return std::equal(counted.begin(), counted.end(), last_.begin(), last_.end(), std::greater_equal<Step>{});
  }

  void answer_parked(auto& out) {
    std::vector<Parked> parked = std::exchange(parked_, {});
    for (Parked& asked : parked) pull(asked.peer, asked.finished, out, std::move(asked.rows));
  }

  void notice(auto& out) const {
    for (const auto& [peer, rank] : peers_) out(NoticeReply{peer, progress(rank)});
  }

  void begin_save(auto& out) {
    // The cut has contributions that state entries, and nobody states these again when the cut is durable.
    waits_for_log_ = rank_log_ && !rank_log_->is_written();
    if (waits_for_log_) return;
    saving_ = Saving{step(), applied_};
    for (Kept& kept : kept_) kept = {std::exchange(kept.since, 0), 0};
    store_.begin_cut(step(), applied_in_cut());
    copy_cut(0, out);
  }

  // In a job whose ranks change, behind the steps of all ranks: the number of ranks that the job began with.
  [[nodiscard]] auto applied_in_cut() const -> std::vector<Step> {
    std::vector<Step> applied = applied_;
    if (rank_log_) applied.push_back(rank_log_->first()->ranks.size());
    return applied;
  }

  void finish(auto& out) {
    if (all_said_goodbye() && everything_saved() && !std::exchange(done_, true)) out(ShardDone{});
  }

  Step cut_interval_;
  bool has_open_end_;
  Consistency consistency_;
  ShardStore store_;
  detail::AwaitedValues awaited_;
  std::vector<Step> applied_;  // the last contribution counted of each rank
  Step counted_ = 0;  // how many contributions of all ranks these are
  detail::StepCounts at_;  // how many ranks are at which of these; if ranks change, at which of `places_`
  std::vector<Step> durable_;  // the same, in the newest durable cut
  std::vector<Kept> kept_;  // for each rank: what its worker still keeps
  std::vector<Step> last_;  // the last contribution that each rank will make; unless ranks change
  Step saved_ = 0;  // contributions in the newest durable cut
  std::optional<RankLogCore> rank_log_;  // empty: the ranks of the job never change, and the next six are not used
  SharedRankLog seen_;  // the log that `places_` follow from; null: none yet
  std::vector<Step> places_;  // of each rank: the step before the next one that it makes; `end_of_job`: it makes none
  Step total_ = 0;  // contributions of the job
  Step top_ = 0;  // the newest step that a rank has made
  std::vector<Step> retired_;  // of each rank: up to this step it need not send anything again to any shard
  bool needs_others_ = true;  // see `take_needed_ranks`
  std::map<Peer, Rank> peers_;
  std::vector<Parked> parked_;
  std::optional<Saving> saving_;
  bool again_ = false;
  bool waits_for_log_ = false;  // a cut is due, and begins when the log of the ranks is durable
  bool no_room_ = false;  // the last cut that was tried found no disk space
  std::set<Rank> goodbyes_;
  bool done_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/impl/async_shard_core.ipp>
#endif
