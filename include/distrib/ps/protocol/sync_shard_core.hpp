// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/sha256.hpp>
#include <distrib/ps/job/error.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/job_updaters.hpp>
#include <distrib/ps/job/lineage.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/detail/awaited_values.hpp>
#include <distrib/ps/protocol/detail/step_contributions.hpp>
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
#include <system_error>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// One shard of a synchronous job: counts each contribution (step, rank) once, completes a step when every rank's is
/// there, reduces them in rank order, applies the updater, keeps the values of the newest two steps, makes cuts.
/// The rules are those of the protocol ("Synchronous rules"); numbers in comments name them.
///
/// With backup workers (`Consistency::replicas_to_aggregate`) the first so many that come complete a step, also of a step
/// ahead; later ones are dropped and counted. A name that comes with other bytes is then nobody's mistake: after a shard
/// came back, other contributions may count than before.
///
/// A job that was started again with other settings has cuts of more than one history (`Lineage`). A shard goes on in the
/// history of the cut that it starts from or is sent to. What was made from values of another history does not count. Cuts
/// of another one are told of when somebody joins, so that workers find the newest cut that is the same on all shards. With
/// backup workers nobody is sent back, and histories are not told.
///
/// Events in, actions out; no clock, no I/O, no thread. Each action is told by a call of `out(action)`, in the
/// order to be performed in; `out` must not call the core. Threads: one at a time. Memory: values, slots, and at most
/// `window` steps of contributions.
class SyncShardCore {
 public:
  static constexpr bool is_synchronous = true;  ///< As `Consistency::is_synchronous` of its jobs.

  /// A shard that starts: with the initial values of the job (cut 0; custom ones are waited for), or from the newest
  /// of its durable `cuts`, steps ascending, which the shell has read into `newest`.
  /// `table_budget_bytes`: see `ShardStore`, which may throw.
  DISTRIB_DECL SyncShardCore(const Job& job, std::uint32_t shard, const JobUpdaters& updaters,
                             std::uint64_t table_budget_bytes = std::numeric_limits<std::uint64_t>::max());

  DISTRIB_DECL SyncShardCore(const Job& job, std::uint32_t shard, const JobUpdaters& updaters, const Cut& newest,
                             std::vector<DurableCut> cuts,
                             std::uint64_t table_budget_bytes = std::numeric_limits<std::uint64_t>::max());

  [[nodiscard]] auto step() const noexcept -> Step { return k_; }
  /// What it keeps: the values, as they are now.
  [[nodiscard]] auto store() noexcept -> ShardStore& { return store_; }
  [[nodiscard]] auto store() const noexcept -> const ShardStore& { return store_; }
  [[nodiscard]] auto progress() const -> Progress {
    return {k_, cuts_, no_room_, awaited_.missing(), false, history_, {}};
  }
  /// The same, with the names of all cuts: for who has joined.
  [[nodiscard]] DISTRIB_DECL auto named_progress() const -> Progress;
  /// By which settings what it computes next is made; with backup workers of no matter, and empty.
  [[nodiscard]] auto lineage() const noexcept -> const Lineage& { return lineage_; }
  /// Contributions that came too late to count, each name once.
  [[nodiscard]] auto stale() const noexcept -> std::uint64_t { return stale_; }

  void join(Peer peer, Rank rank, auto& out) {
    if (rank >= ranks_) return out(RefusedReply{peer, ps_errc::unknown_rank, 0, rank});
    peers_[peer] = rank;
    out(JoinedReply{peer, named_progress()});
  }

  /// The connection is gone: nothing is owed to it any more. Other processes of its rank, which may have left things to
  /// it (rule 9), are answered as after a Join.
  void disconnect(Peer peer, auto& out) {
    const auto gone = peers_.extract(peer);
    std::erase_if(parked_, [peer](const Parked& pull) { return pull.peer == peer; });
    std::erase_if(wanted_states_, [peer](const auto& wanted) { return wanted.first == peer; });
    for (const auto& [other, rank] : peers_)
      if (!gone.empty() && rank == gone.mapped()) out(JoinedReply{other, named_progress()});
  }

  void push(Peer peer, Contribution contribution, auto& out) {
    const auto [step, rank] = std::pair{contribution.step, contribution.rank};
    if (rank >= ranks_) return out(RefusedReply{peer, ps_errc::unknown_rank, step, rank});
    if (step == 0) return begin(peer, contribution, out);
    if (tells_history_ && contribution.history != history_ && !(contribution.history == 0 && has_one_setting())) {
      if (contribution.history == 0) return out(RefusedReply{peer, ps_errc::old_version, step, rank});
      return out(PushedReply{peer, step, progress()});  // from a worker that has not heard yet
    }
    auto [given, bad] = store_.read(std::move(contribution.block));
    if (bad) return out(RefusedReply{peer, bad.code, step, rank, std::move(bad.where)});
    drop_old_cuts(contribution.common_cut, out);
    if (!remember(step, rank, contribution.checksum))  // rule 2: training goes on
      out(RefusedReply{peer, ps_errc::not_repeatable, step, rank});
    if (step <= k_ + window_) {  // rule 3
      const bool stored = step > k_ && contributions_[step].store(rank, std::move(given), contributions_per_step_);
      if (!stored && step > newest_[rank].step) ++stale_;
      if (step >= newest_[rank].step) newest_[rank] = {step, peer};
      if (const std::error_code failed = advance(out)) return out(RefusedReply{peer, failed, step, rank});
    }
    out(PushedReply{peer, step, progress()});
  }

  /// "Give me the values of step u", and with them these rows: answered when kept, parked when in the future, gone when
  /// older (rule 4).
  void pull(Peer peer, Step step, auto& out, PullRows rows = {}) {
    if (const std::error_code bad = store_.check(rows))
      return out(RefusedReply{peer, bad, step, peers_.contains(peer) ? peers_.at(peer) : 0});
    if (step > k_ || waits()) return parked_.push_back({peer, step, std::move(rows)});
    if (step == k_) return out(ValuesReply{peer, step, store_.values(rows), progress(), step});
    if (previous_ != nullptr && step + 1 == k_)
      return out(ValuesReply{peer, step, store_.previous_values(previous_, rows), progress(), step});
    Progress gone = progress();
    const auto asks = peers_.find(peer);
    gone.doubled = asks != peers_.end() && newest_[asks->second].is_from_another(peer, peers_);
    out(GoneReply{peer, step, std::move(gone)});
  }

  /// A worker sends everybody to cut c (rule 11), by the number of its lineage; 0: that of the shard's own history. The
  /// shard is there at once but for the values, which `LoadCut` asks for: until they come it counts nothing and answers no
  /// pull and no further Restore.
  void restore(Peer peer, Step c, auto& out, std::uint64_t lineage = 0) {
    if (loading_) return;  // everybody is told when the values are there
    const bool is_own = lineage == 0 || history_ == 0 || lineage == lineage_.until(c).digest();
    const bool kept = is_own && (c == k_ || (previous_ != nullptr && c + 1 == k_));
    const bool has = is_own ? has_cut(c) : has_other_cut(c, lineage);
    if (kept || !has) return out(JoinedReply{peer, named_progress()});
    if (c < k_ || !is_own) forget_after(c);
    go_on_from(c, is_own ? lineage_ : lineages_.at(c));
    if (std::exchange(copying_, std::nullopt)) store_.drop_cut();  // of values that are no longer there
    k_ = c;
    common_ = std::min(common_, c);
    newest_.assign(ranks_, {k_});
    previous_ = nullptr;
    contributions_.erase(contributions_.begin(), contributions_.upper_bound(k_));
    loading_ = true;
    awaited_.forget();
    out(LoadCut{c});
  }

  /// The shell has read the cut that `LoadCut` asked for. Everybody is answered as after a Join, for what was held of
  /// their contributions may be gone.
  void cut_loaded(const Cut& cut, auto& out) {
    if (!loading_) return;
    if (history_ != 0 && cut.lineage != lineage_.until(k_)) return cut_refused(out);  // it was overwritten meanwhile
    loading_ = false;
    store_.load(cut);
    awaited_.begin_at(k_);
    for (const auto& [peer, rank] : peers_) out(JoinedReply{peer, named_progress()});
    answer_parked(out);
    answer_states(out);
    static_cast<void>(advance(out));  // what it has no memory for is refused when it is sent again
  }

  /// The cut that `LoadCut` asked for is damaged, or not there any more: goes to the newest that it has, as at a start.
  void cut_refused(auto& out) {
    if (!loading_ || k_ == 0) return;
    lose_cut(k_);
    k_ = cuts_.back();
    go_on_from(k_, lineage_);
    newest_.assign(ranks_, {k_});
    contributions_.erase(contributions_.begin(), contributions_.upper_bound(k_));
    common_ = std::min(common_, k_);
    out(LoadCut{k_});
  }

  /// Goes on with the cut that is being copied, as `CopyCut` asked.
  void copy_cut(std::size_t most_bytes, auto& out) {
    asked_to_copy_ = false;
    if (!copying_) return;  // overtaken by a restore
    if (store_.copy_cut(most_bytes)) return copied(out);
    asked_to_copy_ = true;
    out(CopyCut{});
  }

  /// The cut of `step` that `SaveCut` asked for is durable.
  void cut_saved(Step step, auto& out) {
    if (saving_ != step) return;
    saving_.reset();
    no_room_ = false;
    lineages_[step] = std::move(saved_as_);
    find_own_cuts();
    drop_in_vain(out);
    checksums_.erase(checksums_.begin(), checksums_.upper_bound({step, ranks_}));
    if (due_) begin_save(*std::exchange(due_, std::nullopt), out);
    notice(out);
    answer_states(out);
    finish(out);
  }

  /// The cut that `SaveCut` asked for found no room: workers are told not to wait for it.
  void no_room(auto& out) {
    no_room_ = true;
    notice(out);
    answer_states(out);
  }

  /// It is time to try again: the newest one that is due, or else the next; of the last step that one, because workers
  /// wait for it, and of any one where another replica does.
  void save_again(auto& out) {
    if (!saving_) return;
    saving_.reset();
    const bool wanted = cuts_.back() <= refused_ && refused_ < k_;
    if (due_) begin_save(*std::exchange(due_, std::nullopt), out);
    else if ((k_ == total_steps_ || wanted) && !loading_) cut_due(out);
  }

  /// Another replica of this shard, which has a cut of step `have`, asks for a newer one: it is sent the newest that is
  /// durable, or one that is made for it. While there is no room for that it is refused.
  void state(Peer peer, Step have, auto& out) {
    const bool pauses = no_room_ && saving_;
    if (pauses) refused_ = have;
    if (cuts_.back() > have || k_ <= have || loading_ || pauses)
      return out(SendState{peer, cuts_.back() > have ? cuts_.back() : 0});
    wanted_states_.push_back({peer, have});
    save(out);
  }

  /// The state of another replica came, or null: that has none that is newer, or was lost midway. Goes on from it where
  /// it is ahead, and saves it. Everybody is answered as after a Join.
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
    for (const auto& [peer, rank] : peers_) out(JoinedReply{peer, named_progress()});
    if (loading_) return;
    answer_parked(out);
    answer_states(out);
    static_cast<void>(advance(out));  // as in `cut_loaded`
  }

  /// Make a cut of the present step soon, unless there is one: before the process stops.
  void save(auto& out) {
    if (saving_ != k_) cut_due(out);
  }

  /// This rank is done (rule 12).
  void goodbye(Peer peer, auto& out) {
    if (const auto found = peers_.find(peer); found != peers_.end()) goodbyes_.insert(found->second);
    finish(out);
  }

 private:
  using Parked = detail::ParkedPull;

  // Going back to cut c: contributions beyond may be other ones now. But cuts stay, those that are on their way, too: who
  // sent it back may not have heard of them, and a newer one may be common. They are made again where they are due again.
  void forget_after(Step c) {
    contributions_.clear();
    checksums_.erase(checksums_.upper_bound({c, ranks_}), checksums_.end());
    before_ = std::max(before_, k_);
  }

  [[nodiscard]] auto has_cut(Step step) const -> bool { return std::binary_search(cuts_.begin(), cuts_.end(), step); }

  // --- histories ---

  [[nodiscard]] auto has_other_cut(Step step, std::uint64_t lineage) const -> bool {
    const auto cut = lineages_.find(step);
    return cut != lineages_.end() && cut->second.digest() == lineage;
  }

  // Workers of an older version do not tell histories; as long as there is but one they are right.
  [[nodiscard]] auto has_one_setting() const -> bool { return lineage_.entries().size() == 1; }

  // The history of what is computed from step k on, whose values were made so.
  DISTRIB_DECL void go_on_from(Step k, const Lineage& made);
  // Which of the durable cuts are of this history.
  DISTRIB_DECL void find_own_cuts();

  void lose_cut(Step step) {
    lineages_.erase(step);
    std::erase(cuts_, step);
  }

  // Whether it has no values yet.
  [[nodiscard]] auto waits() const noexcept -> bool { return loading_ || awaited_.missing(); }

  // Contribution 0: the first one gives the values.
  void begin(Peer peer, const Contribution& given, auto& out) {
    std::error_code bad = awaited_.take(given, store_);
    if (!bad && !waits()) {
      answer_parked(out);
      bad = advance(out);
    }
    if (bad) out(RefusedReply{peer, bad, 0, given.rank});
    if (!bad || bad == ps_errc::not_repeatable) out(PushedReply{peer, 0, progress()});
  }

  DISTRIB_DECL auto remember(Step step, Rank rank, std::uint32_t checksum) -> bool;

  // Rule 5: of the cuts not newer than the common one, the two newest stay (and 0, for ever).
  void drop_old_cuts(Step common, auto& out) {
    common_ = std::max(common_, common);
    if (loading_) return;  // one of them is being read
    drop_other_cuts(out);
    std::size_t old = 0;
    for (const Step c : cuts_)
      if (c != 0 && c <= common) ++old;
    for (; old > 2; --old) {
      out(DropCut{cuts_[1]});
      lose_cut(cuts_[1]);
    }
  }

  // Nobody goes any more to cuts of other histories before the common one.
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

  // Where another shard has no room, cuts after the common one would become more and more: the newest stay, and those from
  // before it was sent back.
  void drop_in_vain(auto& out) {
    constexpr std::ptrdiff_t most = 8;
    if (loading_) return;
    auto first = std::upper_bound(cuts_.begin(), cuts_.end(), common_);
    for (auto left = std::upper_bound(first, cuts_.end(), k_) - first; left > most; --left) {
      out(DropCut{*first, true});
      lineages_.erase(*first);
      first = cuts_.erase(first);
    }
  }

  // Rule 1. Why the next step cannot be completed although all is there: no memory for new rows.
  auto advance(auto& out) -> std::error_code {
    std::error_code ec;
    if (waits()) return ec;
    for (auto next = contributions_.find(k_ + 1);
         next != contributions_.end() && next->second.ranks.size() == contributions_per_step_;
         next = contributions_.find(k_ + 1)) {
      SharedBuffer before = store_.dense();
      store_.apply(k_ + 1, next->second.read, ec);
      if (ec) break;
      previous_ = std::move(before);
      ++k_;
      contributions_.erase(next);
      if (k_ == total_steps_) cut_due(out);
      else if (cut_interval_ != 0 && k_ % cut_interval_ == 0) cut_due(out, k_ <= before_);
      answer_parked(out);
    }
    return ec;
  }

  // Rule 5: the running one finishes, the newest due one is next. A cut whose copying is not done when the next one is due
  // is copied at once: it would be of two steps.
  void cut_due(auto& out, bool again = false) {
    if (copying_ == k_ || (has_cut(k_) && !again)) return;
    if (copying_) {
      static_cast<void>(store_.copy_cut(std::numeric_limits<std::size_t>::max()));
      copied(out);
    }
    store_.begin_cut(k_);
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
    for (const auto& [peer, rank] : peers_) out(NoticeReply{peer, progress()});
  }

  void finish(auto& out) {
    if (goodbyes_.size() == ranks_ && cuts_.back() >= total_steps_ && !std::exchange(done_, true)) out(ShardDone{});
  }

  Rank ranks_;
  Rank contributions_per_step_;  // that complete it
  Step total_steps_;
  Step cut_interval_;
  Step window_;
  ShardStore store_;
  detail::AwaitedValues awaited_;
  Step k_ = 0;
  SharedBuffer previous_;  // dense values of k-1
  std::map<Step, detail::StepContributions> contributions_;  // of k+1 .. k+window
  std::vector<detail::NewestContribution> newest_;  // of each rank, stored or dropped as stale
  std::uint64_t stale_ = 0;
  std::map<std::pair<Step, Rank>, std::uint32_t> checksums_;
  std::map<Peer, Rank> peers_;
  std::vector<Parked> parked_;
  bool tells_history_;
  Sha256Digest settings_;
  Lineage lineage_;  // of what is computed next; empty: it tells none
  std::uint64_t history_ = 0;  // the number of that
  std::map<Step, Lineage> lineages_;  // of the durable cuts, 0 left out
  std::vector<Step> cuts_{0};  // those of this history, ascending
  Step common_ = 0;  // the newest of them that all shards are known to have
  std::optional<Step> copying_;
  bool asked_to_copy_ = false;  // and not called yet
  std::optional<Step> saving_;
  Lineage saved_as_;
  Step before_ = 0;  // where it was when it was sent back
  bool no_room_ = false;  // for the last one that was tried
  std::optional<SaveCut> due_;
  bool loading_ = false;  // the values of k are on their way
  std::vector<std::pair<Peer, Step>> wanted_states_;  // by other replicas, with what they have
  std::optional<Step> refused_;  // what the last one had for which there was no room
  std::set<Rank> goodbyes_;
  bool done_ = false;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/impl/sync_shard_core.ipp>
#endif
