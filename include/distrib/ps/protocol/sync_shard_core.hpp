// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/ps/job/erased_keys.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/lineage.hpp>
#include <distrib/ps/job/rank_block.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/detail/awaited_values.hpp>
#include <distrib/ps/protocol/detail/step_contributions.hpp>
#include <distrib/ps/protocol/erase_log_core.hpp>
#include <distrib/ps/protocol/rank_log_core.hpp>
#include <distrib/ps/store/cut.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/shard_action.hpp>
#include <distrib/ps/store/shard_store.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
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

/// One shard of a synchronous job. Counts each contribution (step, rank) once. Completes a step when it has the
/// contributions of all ranks: reduces them in rank order, or in a tree as they arrive (`Job::reduction`), and applies
/// the updater. Keeps the values of the newest two steps and makes cuts. The rules are in docs/design/protocol.md,
/// section "Synchronous jobs"; numbers in comments name them.
///
/// In a tree a worker may serve a block of ranks, and push their sum (`RankBlock`). What is said below of a rank then
/// holds for each rank of the block. Blocks may lie in each other: each rank counts once.
///
/// With backup workers (`Consistency::replicas_to_aggregate`) the first contributions to a step that arrive complete
/// it, also if they arrive before the step is next; later ones are dropped and counted as stale. Then it is no mistake
/// if a name arrives again with other bytes: after a shard came back, other contributions may count than before.
///
/// In a job whose ranks change (`Job::most_ranks`) a contribution states which ranks make its step, and the step is
/// complete when these have contributed. The entry also says by what the learning rate of the step is multiplied.
/// Values are told only when the log of the ranks allows it. The host has work for `rank_log`.
///
/// In a job whose keys may be erased (`Job::erases_keys`) keys go after a step as the log of the shard says. A step is
/// completed only when what goes after it is durable. The host has work for `erase_log`.
///
/// A job that was started again with other settings has cuts of more than one history (`Lineage`). A shard continues in
/// the history of the cut that it starts from or is sent to, and does not count contributions that were made from
/// values of another history. It reports cuts of other histories to each worker that joins, so that workers can find
/// the newest cut that is the same on all shards. With backup workers no shard is sent back, and histories are not
/// reported.
///
/// Events in, actions out; no clock, no I/O, no thread. Each action is one call `out(action)`, in the order to be
/// performed in; `out` must not call the core. Memory: the dense values of two steps, slots, tables, and at most
/// `contribution_window` steps of contributions.
///
/// Threads: one at a time.
class SyncShardCore {
 public:
  static constexpr bool is_synchronous = true;  ///< As `Consistency::is_synchronous` of its jobs.

  /// Makes a shard that starts at step 0 with the initial values of the job (cut 0), or waits for them if they are
  /// custom. `table_budget_bytes`: see `ShardStore`, whose constructor may throw.
  DISTRIB_DECL SyncShardCore(const Job& job, std::uint32_t shard, const JobUpdaters& updaters,
                             std::uint64_t table_budget_bytes = std::numeric_limits<std::uint64_t>::max());

  /// Makes a shard that continues from `newest`, the newest of its durable `cuts` (steps ascending), which the shell
  /// has read.
  DISTRIB_DECL SyncShardCore(const Job& job, std::uint32_t shard, const JobUpdaters& updaters, const Cut& newest,
                             std::vector<DurableCut> cuts,
                             std::uint64_t table_budget_bytes = std::numeric_limits<std::uint64_t>::max());

  /// Returns k: the last step that is completed.
  [[nodiscard]] auto step() const noexcept -> Step { return k_; }
  /// Returns what the shard keeps: the values as they are now.
  [[nodiscard]] auto store() noexcept -> ShardStore& { return store_; }
  [[nodiscard]] auto store() const noexcept -> const ShardStore& { return store_; }
  /// Returns the progress of the shard, without `all_cuts`.
  [[nodiscard]] auto progress() const -> Progress {
    return {k_, cuts_, no_room_, awaited_.missing(), false, history_, {}, rank_log_ ? rank_log_->log() : nullptr};
  }
  /// Returns the progress for a worker that joins. Unlike `progress` it has `all_cuts`, which names also the cuts of
  /// other histories. See `Progress::all_cuts` for when that is empty.
  [[nodiscard]] DISTRIB_DECL auto named_progress() const -> Progress;
  /// Returns the lineage of the steps that follow k: the settings that have made k and make the next step. With backup
  /// workers histories do not matter, and the lineage is empty.
  [[nodiscard]] auto lineage() const noexcept -> const Lineage& { return lineage_; }
  /// Returns how many contributions arrived too late to count, each name once; 0 without backup workers. Counts from
  /// the start of this object.
  [[nodiscard]] auto stale() const noexcept -> std::uint64_t { return stale_; }

  /// Returns the bytes of the blocks of contributions, and of their sums, that wait for others of their step.
  [[nodiscard]] auto waiting_bytes() const noexcept -> std::uint64_t {
    std::uint64_t bytes = 0;
    for (const auto& [step, of_step] : contributions_) bytes += of_step.waiting_bytes();
    return bytes;
  }
  /// Returns the most that `waiting_bytes` has been, after a contribution was taken and before its step was completed.
  [[nodiscard]] auto most_waiting_bytes() const noexcept -> std::uint64_t { return most_waiting_bytes_; }

  /// True if it takes the sums of blocks of ranks: it adds in a tree, and the ranks of the job never change.
  [[nodiscard]] auto takes_sums() const noexcept -> bool { return in_tree_ && !rank_log_; }

  /// Returns the newest step that any rank has made here, for `RankLogCore::next_write`: k.
  [[nodiscard]] auto rank_step() const noexcept -> Step { return k_; }
  /// Returns what the shard decides about the ranks of steps; null: the job's ranks never change. Its host opens it
  /// before the first other event.
  [[nodiscard]] auto rank_log() noexcept -> RankLogCore* { return rank_log_ ? &*rank_log_ : nullptr; }
  /// Returns what the shard decides about keys that are to be erased; null: the job does not let them (its
  /// `erases_keys`). Its host opens it before the first other event.
  [[nodiscard]] auto erase_log() noexcept -> EraseLogCore* { return erase_log_ ? &*erase_log_ : nullptr; }
  /// The file that `next_write` of `rank_log()` or `erase_log()` returned is durable: completes the steps that have
  /// waited for that, and tells what may be told now. If memory is short for such a step, all peers get `JoinedReply`,
  /// and the contribution is refused when it is sent again.
  void ranks_written(auto& out) {
    if (rank_log_) rank_log_->written();
    if (erase_log_) {
      erase_log_->written();
      if (advance(out))
        for (const auto& [peer, ranks] : peers_) out(JoinedReply{peer, named_progress()});
    }
    answer_parked(out);
  }

  /// Returns the newest cut that all shards have, as far as contributions have told since this object was made; at
  /// least 0.
  [[nodiscard]] auto common_cut() const noexcept -> Step { return common_; }

  /// A worker of these ranks joins on this connection. Answered with `JoinedReply`.
  ///
  /// Errors: `RefusedReply` with `ps_errc::unknown_rank`, also if the job has no such block; or `no_sums`, if it is more
  /// than a rank and the shard does not add in a tree, or the job's ranks change.
  void join(Peer peer, RankBlock ranks, auto& out) {
    if (const std::error_code bad = unlike(ranks)) return out(RefusedReply{peer, bad, 0, ranks.first});
    const auto [known, is_new] = peers_.insert({peer, ranks});
    if (!is_new) count_processes(std::exchange(known->second, ranks), -1);
    count_processes(ranks, 1);
    for (Rank rank = ranks.first; rank < ranks.end(ranks_); ++rank) vacant_.erase(rank);
    out(JoinedReply{peer, named_progress()});
  }

  /// The connection of `peer` is lost: drops its pulls and its request for a state. Other processes of its ranks, which
  /// may have left steps to it (rule 9), get `JoinedReply` as after a Join.
  void disconnect(Peer peer, auto& out) {
    const auto gone = peers_.extract(peer);
    std::erase_if(parked_, [peer](const Parked& pull) { return pull.peer == peer; });
    std::erase_if(wanted_states_, [peer](const auto& wanted) { return wanted.first == peer; });
    if (gone.empty() || !count_processes(gone.mapped(), -1)) return;
    for (const auto& [other, ranks] : peers_)
      if (ranks.meets(gone.mapped())) out(JoinedReply{other, named_progress()});
  }

  /// A contribution has arrived. Stores it, and completes the steps that have all their contributions now, unless the
  /// shard waits for its values. Drops it if it was counted or stored before, if it is beyond the window (rule 3), if
  /// it arrives too late (with backup workers), or if it was made from values of another history. Answered with
  /// `PushedReply` in all these cases. Contribution 0: the first one sets the custom initial values.
  ///
  /// Errors: `RefusedReply`, and no `PushedReply`, with
  /// - `ps_errc::unknown_rank` or `no_sums` as for `join`, or an error of `ShardStore::read`: nothing has changed;
  /// - `unknown_rank` also if the contribution does not state ranks of the job, or ranks without its own;
  /// - `ranks_differ` if an earlier contribution to the step has stated other ranks: nothing has changed;
  /// - `old_version`: the worker reports no history, and settings have changed; nothing has changed;
  /// - `wrong_size` or `bad_initial_values` of contribution 0: the shard still waits for its values;
  /// - `budget_exceeded`: no memory for the rows of the next step. The contribution is stored, and the step stays
  ///   incomplete; the next push tries again.
  ///
  /// `RefusedReply` with `not_repeatable` (rule 2) only reports: training continues with the first bytes, and
  /// `PushedReply` follows. Equal names are compared: a rank inside a sum is not compared with the rank alone.
  void push(Peer peer, Contribution contribution, auto& out) {
    const auto [step, rank] = std::pair{contribution.step, contribution.rank};
    const RankBlock ranks = contribution.ranks();
    if (const std::error_code bad = unlike(ranks)) return out(RefusedReply{peer, bad, step, rank});
    if (step == 0) return begin(peer, contribution, out);
    if (tells_history_ && contribution.history != history_ && !(contribution.history == 0 && has_one_setting())) {
      if (contribution.history == 0) return out(RefusedReply{peer, ps_errc::old_version, step, rank});
      return out(PushedReply{peer, step, progress()});  // from a worker that does not know the new history yet
    }
    if (rank_log_)
      if (const std::error_code bad = hear(contribution)) return out(RefusedReply{peer, bad, step, rank});
    auto [given, bad] =
        ranks.level == 0 ? store_.read(std::move(contribution.block)) : store_.read_sum(std::move(contribution.block));
    if (bad) return out(RefusedReply{peer, bad.code, step, rank, std::move(bad.where)});
    drop_old_cuts(contribution.common_cut, out);
    if (!remember(step, ranks, contribution.checksum))  // rule 2: training continues
      out(RefusedReply{peer, ps_errc::not_repeatable, step, rank});
    if (step <= k_ + window_) {  // rule 3
      const bool stored = step > k_ && take_in(contributions_[step], ranks, std::move(given));
      most_waiting_bytes_ = std::max(most_waiting_bytes_, waiting_bytes());
      if (!stored && !in_tree_ && step > newest_[rank].step) ++stale_;
      for (Rank one = rank; one < ranks.end(ranks_); ++one)
        if (step >= newest_[one].step) newest_[one] = {step, peer};
      if (const std::error_code failed = advance(out)) return out(RefusedReply{peer, failed, step, rank});
    }
    out(PushedReply{peer, step, progress()});
  }

  /// A worker asks for the values of `step` and for `rows`. Answered with `ValuesReply` if these values are kept, and
  /// with `GoneReply` if they are no longer kept (rule 4). Parked if the step is in the future or the shard waits for
  /// its values.
  ///
  /// Errors: `RefusedReply` with `ps_errc::no_such_row` if `rows` are not of this shard.
  void pull(Peer peer, Step step, auto& out, PullRows rows = {}) {
    if (const std::error_code bad = store_.check(rows))
      return out(RefusedReply{peer, bad, step, peers_.contains(peer) ? peers_.at(peer).first : 0});
    if (step > k_ || waits() || !may_tell(step)) return parked_.push_back({peer, step, std::move(rows)});
    if (step == k_) return out(ValuesReply{peer, step, store_.values(rows), progress(), step});
    if (previous_ != nullptr && step + 1 == k_)
      return out(ValuesReply{peer, step, store_.previous_values(previous_, rows), progress(), step});
    Progress gone = progress();
    const auto asks = peers_.find(peer);
    gone.doubled = asks != peers_.end() && others_made_newest(peer, asks->second);
    out(GoneReply{peer, step, std::move(gone)});
  }

  /// A worker sends all shards to cut c (rule 11). `lineage`: the digest of the lineage of that cut; 0: the cut of the
  /// shard's own history. If the shard still keeps the values of c (of a job that is not replayable: if it is at c), or
  /// has no such cut, it only answers `JoinedReply`. Otherwise it goes to step c and asks for the values with
  /// `LoadCut`. Until `cut_loaded` it completes no step, parks pulls, and ignores a further Restore; then all peers get
  /// `JoinedReply`.
  void restore(Peer peer, Step c, auto& out, std::uint64_t lineage = 0) {
    if (loading_) return;  // all peers get an answer when the values are loaded
    const bool is_own = lineage == 0 || history_ == 0 || lineage == lineage_.until(c).digest();
    const bool kept = is_own && (c == k_ || (replayable_ && previous_ != nullptr && c + 1 == k_));
    const bool has = is_own ? has_cut(c) : has_other_cut(c, lineage);
    if (kept || !has) return out(JoinedReply{peer, named_progress()});
    if (c < k_ || !is_own) forget_after(c, out);
    go_on_from(c, is_own ? lineage_ : lineages_.at(c));
    if (std::exchange(copying_, std::nullopt)) store_.drop_cut();  // its values no longer exist
    k_ = c;
    common_ = std::min(common_, c);
    newest_.assign(ranks_, {k_});
    previous_ = nullptr;
    contributions_.erase(contributions_.begin(), contributions_.upper_bound(k_));
    loading_ = true;
    awaited_.forget();
    out(LoadCut{c});
  }

  /// The shell has read the cut that `LoadCut` asked for. All peers get `JoinedReply` as after a Join, because
  /// contributions of theirs that were stored may be lost. A cut of another history than expected was overwritten
  /// meanwhile: as `cut_refused`. Throws as `ShardStore::load`; the shard cannot continue then.
  void cut_loaded(const Cut& cut, auto& out) {
    if (!loading_) return;
    if (history_ != 0 && cut.lineage != lineage_.until(k_)) return cut_refused(out);  // it was overwritten meanwhile
    loading_ = false;
    store_.load(cut);
    awaited_.begin_at(k_);
    for (const auto& [peer, ranks] : peers_) out(JoinedReply{peer, named_progress()});
    answer_parked(out);
    answer_states(out);
    static_cast<void>(advance(out));  // if memory is short, the contribution is refused when it is sent again
  }

  /// The cut that `LoadCut` asked for is damaged or missing. Goes to the newest other cut of this history, as at a
  /// start: another `LoadCut` follows. Must not be called for cut 0, which can always be made; then does nothing.
  void cut_refused(auto& out) {
    if (!loading_ || k_ == 0) return;
    lose_cut(k_);
    forget_after(cuts_.back(), out);
    k_ = cuts_.back();
    go_on_from(k_, lineage_);
    newest_.assign(ranks_, {k_});
    common_ = std::min(common_, k_);
    out(LoadCut{k_});
  }

  /// Copies the next piece of the cut, as `CopyCut` asked. When the copy is complete, the cut is saved: at once, or
  /// after the cut that is being written.
  void copy_cut(std::size_t most_bytes, auto& out) {
    asked_to_copy_ = false;
    if (!copying_) return;  // a Restore has dropped it
    if (store_.copy_cut(most_bytes)) return copied(out);
    asked_to_copy_ = true;
    out(CopyCut{});
  }

  /// The cut of `step` that `SaveCut` asked for is durable. Ignored for another step.
  void cut_saved(Step step, auto& out) {
    if (saving_ != step) return;
    saving_.reset();
    no_room_ = false;
    if (std::exchange(outdated_, std::nullopt)) {
      out(DropCut{step, true});
    } else {
      lineages_[step] = std::move(saved_as_);
      find_own_cuts();
      store_.cut_is_durable(step);
    }
    drop_unneeded(out);
    checksums_.erase(checksums_.begin(), checksums_.lower_bound({step + 1, {}}));
    if (due_) begin_save(*std::exchange(due_, std::nullopt), out);
    notice(out);
    answer_states(out);
    finish(out);
  }

  /// There was no disk space for the cut that `SaveCut` asked for. The notices report this, so
  /// that workers do not wait for it.
  void no_room(auto& out) {
    no_room_ = true;
    notice(out);
    answer_states(out);
  }

  /// Called when the pause after `no_room` is over. Gives up the cut that did not fit. If a newer cut is due, saves
  /// that. Otherwise waits for the next cut that is due; but the cut of the last step is tried again, because workers
  /// wait for it, and a cut of the present step is made if another replica waits for one.
  void save_again(auto& out) {
    if (!saving_) return;
    saving_.reset();
    outdated_.reset();
    const bool wanted = cuts_.back() <= refused_ && refused_ < k_;
    if (due_) begin_save(*std::exchange(due_, std::nullopt), out);
    else if ((k_ == total_steps_ || wanted) && !loading_) cut_due(out);
  }

  /// Another replica of this shard, which has the state of step `have`, asks for a newer cut. If the newest durable cut
  /// is newer, answers with `SendState` of that cut. Otherwise, if the shard itself is newer, makes a cut and answers
  /// when it is durable. Answers with step 0 if there is nothing newer; and, instead of making a cut, while a cut is
  /// being loaded or there is no disk space.
  void state(Peer peer, Step have, auto& out) {
    const bool pauses = no_room_ && saving_;
    if (pauses) refused_ = have;
    if (cuts_.back() > have || k_ <= have || loading_ || pauses)
      return out(SendState{peer, cuts_.back() > have ? cuts_.back() : 0});
    wanted_states_.push_back({peer, have});
    save(out);
  }

  /// The state of the other replica has arrived. Null: that replica has no newer state, or the fetch failed. If the
  /// state is ahead of this shard, and no cut is being loaded, continues from it and saves it. In every case all peers
  /// get `JoinedReply` as after a Join. Throws as `ShardStore::load`; the shard cannot continue then.
  void state_came(const Cut* cut, auto& out) {
    if (cut != nullptr && cut->step > k_ && !loading_) {
      if (std::exchange(copying_, std::nullopt)) store_.drop_cut();
      due_.reset();
      store_.load(*cut);
      awaited_.begin_at(k_ = cut->step);
      if (cut->lineage != lineage_.until(k_)) checksums_.clear();
      go_on_from(k_, cut->lineage);
      newest_.assign(ranks_, {k_});
      previous_ = nullptr;
      contributions_.erase(contributions_.begin(), contributions_.upper_bound(k_));
      save(out);
    }
    for (const auto& [peer, ranks] : peers_) out(JoinedReply{peer, named_progress()});
    if (loading_) return;
    answer_parked(out);
    answer_states(out);
    static_cast<void>(advance(out));  // as in `cut_loaded`
  }

  /// Makes a whole cut of the present step soon, unless a cut of it exists or is being made. Called when a worker asks for
  /// a cut, and before the process stops.
  void save(auto& out) {
    // a cut of this step that is being written may be of another history
    const bool is_under_way = saving_ == k_ && outdated_ != k_ && saved_as_ == lineage_.until(k_);
    if (!is_under_way) cut_due(out, false, true);
  }

  /// The rank of `peer` is done (rule 12). `ShardDone` follows when all ranks have said goodbye and the last cut is
  /// durable; a vacant rank (`vacate`) is not waited for. Ignored if the peer has not joined.
  void goodbye(Peer peer, auto& out) {
    if (const auto found = peers_.find(peer); found != peers_.end())
      for (Rank rank = found->second.first; rank < found->second.end(ranks_); ++rank) goodbyes_.insert(rank);
    finish(out);
  }

  /// With backup workers: no process of the rank is connected, and none is expected any more. Counts like a goodbye,
  /// until a process of the rank joins.
  void vacate(Rank rank, auto& out) {
    vacant_.insert(rank);
    finish(out);
  }

 private:
  using Parked = detail::ParkedPull;

  // Goes back to cut c. Drops the stored contributions and the checksums after c: what is made again may differ. Keeps
  // every newer cut, also the cut that is being written: the worker that sent the Restore may not know them, and one of
  // them may be common to all shards already. A newer cut is written again when its step is due again. But if the job
  // is not replayable, other steps follow than the steps of these cuts, so it drops them.
  void forget_after(Step c, auto& out) {
    contributions_.clear();
    checksums_.erase(checksums_.lower_bound({c + 1, {}}), checksums_.end());
    before_ = std::max(before_, k_);
    if (replayable_) return;
    due_.reset();
    outdated_ = saving_;
    for (; cuts_.back() > c; lose_cut(cuts_.back())) out(DropCut{cuts_.back(), true});
  }

  [[nodiscard]] auto has_cut(Step step) const -> bool { return std::binary_search(cuts_.begin(), cuts_.end(), step); }

  // --- histories ---

  [[nodiscard]] auto has_other_cut(Step step, std::uint64_t lineage) const -> bool {
    const auto cut = lineages_.find(step);
    return cut != lineages_.end() && cut->second.digest() == lineage;
  }

  // True if the settings never changed, which is what workers of an older version assume; they report no history.
  [[nodiscard]] auto has_one_setting() const -> bool { return lineage_.entries().size() == 1; }

  // Sets the history of the steps after k. `made`: the lineage of the values of k. A job that was begun in rank order
  // stays in it, although its description says `reduction tree` now: its bits must not change in the middle.
  DISTRIB_DECL void go_on_from(Step k, const Lineage& made);
  // Finds out which of the durable cuts are of this history.
  DISTRIB_DECL void find_own_cuts();

  void lose_cut(Step step) {
    lineages_.erase(step);
    std::erase(cuts_, step);
  }

  // E1: true if the ranks of the step after this one cannot change any more. X1: and no keys can go after this one.
  [[nodiscard]] auto may_tell(Step step) const noexcept -> bool {
    return (!rank_log_ || rank_log_->may_tell(step)) && (!erase_log_ || erase_log_->may_tell(step));
  }
  // E4: a contribution states the ranks of its step. Returns why it is refused.
  DISTRIB_DECL auto hear(const Contribution& given) -> std::error_code;
  // True if each rank of the last step has said goodbye, or is vacant.
  [[nodiscard]] DISTRIB_DECL auto all_said_goodbye() const -> bool;

  // True if the shard has no values yet.
  [[nodiscard]] auto waits() const noexcept -> bool { return loading_ || awaited_.missing(); }

  // Contribution 0: the first one sets the values.
  void begin(Peer peer, const Contribution& given, auto& out) {
    std::error_code bad = awaited_.take(given, store_);
    if (!bad && !waits()) {
      answer_parked(out);
      bad = advance(out);
    }
    if (bad) out(RefusedReply{peer, bad, 0, given.rank});
    if (!bad || bad == ps_errc::not_repeatable) out(PushedReply{peer, 0, progress()});
  }

  // Stores a contribution, or adds it to the sums of its step. Returns false if the rank has one already, or the step
  // is complete.
  auto take_in(detail::StepContributions& of_step, RankBlock ranks, ReadContribution given) -> bool {
    const Rank needed = needed_for(of_step);
    if (!in_tree_) return of_step.store(ranks.first, std::move(given), needed);
    if (of_step.entry() != nullptr) ranks.first = of_step.entry()->place_of(ranks.first);
    const auto sum = [this](const ReadContribution& left, const ReadContribution& right) {
      return store_.sum(left, right);
    };
    return of_step.add(ranks, std::move(given), needed, sum);
  }

  DISTRIB_DECL auto remember(Step step, RankBlock ranks, std::uint32_t checksum) -> bool;

  // Returns why it takes no contribution of these ranks.
  [[nodiscard]] auto unlike(RankBlock ranks) const -> std::error_code {
    if (!is_block(ranks, ranks_)) return ps_errc::unknown_rank;
    return ranks.level != 0 && !takes_sums() ? std::error_code{ps_errc::no_sums} : std::error_code{};
  }

  // A process of these ranks comes (1) or goes (-1). Returns true if other processes of one of them are here.
  DISTRIB_DECL auto count_processes(RankBlock ranks, int change) -> bool;
  // True if the newest contribution of each of these ranks came from another process that is connected.
  [[nodiscard]] DISTRIB_DECL auto others_made_newest(Peer peer, RankBlock ranks) const -> bool;

  // Returns how many contributions complete a step.
  [[nodiscard]] auto needed_for(const detail::StepContributions& of_step) const -> Rank {
    return of_step.entry() == nullptr ? contributions_per_step_ : static_cast<Rank>(of_step.entry()->ranks.size());
  }

  // Rule 1: true if all contributions of a step are there.
  [[nodiscard]] auto is_complete(const detail::StepContributions& of_step) const -> bool {
    return in_tree_ ? of_step.is_summed() : of_step.size() == needed_for(of_step);
  }

  // Rule 5: drops the cuts that are not newer than the common cut, except the two newest of them and cut 0.
  void drop_old_cuts(Step common, auto& out) {
    common_ = std::max(common_, common);
    if (loading_) return;  // a cut is being read, perhaps one of these
    drop_other_cuts(out);
    std::size_t old = 0;
    for (const Step c : cuts_)
      if (c != 0 && c <= common) ++old;
    for (; old > 2; --old) {
      out(DropCut{cuts_[1]});
      lose_cut(cuts_[1]);
    }
  }

  // Drops the cuts of other histories that are older than the common cut: no worker sends a shard there any more.
  void drop_other_cuts(auto& out) {
    if (lineages_.size() + 1 == cuts_.size()) return;
    std::vector<Step> others;
    for (const auto& [step, lineage] : lineages_)
      if (step < common_ && step != saving_ && !has_cut(step)) others.push_back(step);
    for (const Step step : others) {
      out(DropCut{step});
      lose_cut(step);
    }
  }

  // While another shard has no disk space, the number of cuts after the common cut grows. So only the newest `most` of
  // the cuts up to k stay. Cuts after k, which were made before the shard was sent back, stay too.
  void drop_unneeded(auto& out) {
    constexpr std::ptrdiff_t most = 8;
    if (loading_) return;
    auto first = std::upper_bound(cuts_.begin(), cuts_.end(), common_);
    for (auto left = std::upper_bound(first, cuts_.end(), k_) - first; left > most; --left) {
      out(DropCut{*first, true});
      lineages_.erase(*first);
      first = cuts_.erase(first);
    }
  }

  // Rule 1: completes the steps that have all their contributions. Returns why the next such step cannot be completed:
  // no memory for new rows.
  auto advance(auto& out) -> std::error_code {
    std::error_code ec;
    if (waits()) return ec;
    for (auto next = contributions_.find(k_ + 1); next != contributions_.end() && is_complete(next->second);
         next = contributions_.find(k_ + 1)) {
      if (erase_log_ && !erase_log_->may_complete(k_ + 1)) break;  // until it is durable what goes after this step
      const auto erased = erase_log_ ? erase_log_->after(k_ + 1) : std::span<const ErasedKeys>{};
      SharedBuffer before = store_.dense();
      // of the entry that the contributions state, not of the shard's own log
      const double factor = next->second.entry() == nullptr ? 1.0 : next->second.entry()->factor_of(k_ + 1);
      if (in_tree_) store_.apply_sum(k_ + 1, next->second.total(), needed_for(next->second), factor);
      else store_.apply(k_ + 1, next->second.in_rank_order(), ec, factor, erased);
      if (ec) break;
      previous_ = std::move(before);
      ++k_;
      if (erase_log_) erase_log_->completed(k_);
      contributions_.erase(next);
      if (k_ == total_steps_) cut_due(out);
      else if (cut_interval_ != 0 && k_ % cut_interval_ == 0) cut_due(out, k_ <= before_);
      answer_parked(out);
    }
    return ec;
  }

  // Rule 5: the cut that is being written is finished first, then the newest due cut is written. If the copy of a cut
  // is not complete when the next cut is due, the rest is copied at once, because a store copies one cut at a time.
  // `again`: also if there is a cut of this step already. `whole`: it must be whole.
  void cut_due(auto& out, bool again = false, bool whole = false) {
    if (copying_ == k_ || (has_cut(k_) && !again)) return;
    if (copying_) {
      static_cast<void>(store_.copy_cut(std::numeric_limits<std::size_t>::max()));
      copied(out);
    }
    store_.begin_cut(k_, {}, whole);
    copying_ = k_;
    if (store_.copy_cut(0)) return copied(out);
    if (!std::exchange(asked_to_copy_, true)) out(CopyCut{});
  }

  void copied(auto& out) {
    copying_.reset();
    SaveCut save = store_.take_cut();
    save.cut.lineage = lineage_.until(save.cut.step);
    if (saving_) due_ = std::move(save);
    else begin_save(std::move(save), out);
  }

  void begin_save(SaveCut save, auto& out) {
    saving_ = save.cut.step;
    saved_as_ = save.cut.lineage;
    out(std::move(save));
  }

  void answer_parked(auto& out) {
    std::vector<Parked> parked = std::exchange(parked_, {});
    for (Parked& asked : parked) pull(asked.peer, asked.step, out, std::move(asked.rows));
  }

  void answer_states(auto& out) {
    for (const auto& [peer, have] : std::exchange(wanted_states_, {})) state(peer, have, out);
  }

  void notice(auto& out) const {
    for (const auto& [peer, ranks] : peers_) out(NoticeReply{peer, progress()});
  }

  void finish(auto& out) {
    if (all_said_goodbye() && cuts_.back() >= total_steps_ && !std::exchange(done_, true)) out(ShardDone{});
  }

  Rank ranks_;  // 0 .. ranks_ - 1 are names of ranks
  Rank contributions_per_step_;  // how many complete a step, unless contributions state that
  Step total_steps_;
  Step cut_interval_;
  Step window_;
  ShardStore store_;
  std::optional<RankLogCore> rank_log_;  // empty: the ranks of the job never change
  std::optional<EraseLogCore> erase_log_;  // empty: no keys are erased
  detail::AwaitedValues awaited_;
  Step k_ = 0;
  SharedBuffer previous_;  // dense values of k-1; null: not kept
  std::map<Step, detail::StepContributions> contributions_;  // for k+1 .. k+window
  std::uint64_t most_waiting_bytes_ = 0;
  std::vector<detail::NewestContribution> newest_;  // for each rank; stored, or dropped as stale
  std::uint64_t stale_ = 0;
  std::map<std::pair<Step, RankBlock>, std::uint32_t> checksums_;  // of contributions, see `remember`
  std::map<Peer, RankBlock> peers_;
  std::vector<std::uint32_t> processes_;  // for each rank: how many of these
  std::vector<Parked> parked_;
  bool tells_history_;  // false with backup workers
  bool replayable_;
  Sha256Digest settings_;
  Sha256Digest in_rank_order_{};  // the same settings without the line about the tree; all zeros: there is no such line
  bool in_tree_ = false;  // contributions are added in a tree
  Lineage lineage_;  // of what is computed next; empty: histories are not reported
  std::uint64_t history_ = 0;  // the digest of `lineage_`; 0: not reported
  std::map<Step, Lineage> lineages_;  // of the durable cuts except cut 0, also of other histories
  std::vector<Step> cuts_{0};  // the durable cuts of this history, ascending
  Step common_ = 0;  // the newest of them that all shards have, as far as is known
  std::optional<Step> copying_;  // the step of the cut that is being copied
  bool asked_to_copy_ = false;  // `CopyCut` was sent, and `copy_cut` not called yet
  std::optional<Step> saving_;  // the step of the cut that is being written
  Lineage saved_as_;  // its lineage
  std::optional<Step> outdated_;  // `saving_`, if the shard was sent back since and the job is not replayable
  Step before_ = 0;  // the step from which it was last sent back
  bool no_room_ = false;  // the last cut that was tried found no disk space
  std::optional<SaveCut> due_;  // the next cut to write, when the present one is durable
  bool loading_ = false;  // the values of step k are being read
  std::vector<std::pair<Peer, Step>> wanted_states_;  // requests of other replicas, with the step that they have
  std::optional<Step> refused_;  // the step of the last replica whose request found no disk space
  std::set<Rank> goodbyes_;
  std::set<Rank> vacant_;  // see `vacate`
  bool done_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/impl/sync_shard_core.ipp>
#endif
