// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/export_log/export_core.hpp>

#include <algorithm>
#include <utility>

namespace distrib {
inline namespace v0 {
DISTRIB_DECL ExportCore::ExportCore(const ExportRules& rules, std::uint64_t lineage, ExportMark mark)
    : rules_{rules}, lineage_{lineage}, base_{std::move(mark.base)} {
  for (LogVote& vote : mark.votes) pending_.push_back({std::move(vote), false});
}

DISTRIB_DECL void ExportCore::failed() noexcept {
  phase_ = Phase::idle;
  for (Pending& one : pending_) one.voted = false;
}

DISTRIB_DECL void ExportCore::start(ExportActions& out) {
  if (is_busy() || epoch_ != 0) return;
  phase_ = Phase::reading_to_start;
  out.emplace_back(export_action::ReadLog{});
}

DISTRIB_DECL void ExportCore::poll(ExportActions& out) {
  if (is_busy()) return;
  if (epoch_ == 0) return start(out);
  vote(out);  // again, if that has failed
  phase_ = Phase::reading;
  out.emplace_back(export_action::ReadLog{});
}

DISTRIB_DECL void ExportCore::log_read(LogView view, ExportActions& out) {
  const bool is_start = phase_ == Phase::reading_to_start;
  phase_ = Phase::idle;
  if (is_start) {
    view_ = std::move(view);
    return take_number(out);
  }
  const bool is_ours = view.head.log == view_.head.log && view.head.epochs.size() > rules_.shard &&
                       view.head.epochs[rules_.shard] == epoch_;
  if (!is_ours) {
    epoch_ = 0;
    give_up_own_base();
    out.emplace_back(export_action::Replaced{});
    return;
  }
  view_ = std::move(view);
  note_committed(out);
  candidate_ = 0;
  looks_for_blocked_ = true;
  ask_for_votes(out);
}

DISTRIB_DECL void ExportCore::take_number(ExportActions& out) {
  next_head_ = view_.head;
  if (next_head_.log == 0) next_head_.log = rules_.new_log;
  if (next_head_.epochs.size() <= rules_.shard) next_head_.epochs.resize(rules_.shard + std::size_t{1});
  ++next_head_.epochs[rules_.shard];
  phase_ = Phase::starting;
  out.emplace_back(export_action::SwapHead{view_.version, next_head_});
}

DISTRIB_DECL void ExportCore::swapped(bool done, ExportActions& out) {
  const Phase phase = std::exchange(phase_, Phase::idle);
  if (phase == Phase::starting) {
    if (!done) return start(out);
    view_.head = next_head_;
    epoch_ = next_head_.epochs[rules_.shard];
    continue_from_cut();
    return vote(out);
  }
  if (!done) return;  // another shard was faster, or a process has started
  const bool has_new_base =
      next_manifest_.is_base() || !view_.manifest || next_manifest_.bases != view_.manifest->bases;
  view_.head = next_head_;
  view_.manifest = next_manifest_;
  note_committed(out);
  out.emplace_back(export_action::Committed{next_manifest_, has_new_base});
}

// The shard may go on with deltas only if it can prove that its rows follow from what is committed: they are that, or
// votes of its cut lead from there to them.
DISTRIB_DECL void ExportCore::continue_from_cut() {
  const LogPart* const committed = committed_part();
  std::vector<Pending> chain;
  bool is_proven = committed != nullptr && !base_.empty();
  for (std::string at = base_; is_proven && at != committed->name;) {
    const auto own =
        std::ranges::find(pending_, at, [](const Pending& one) -> const std::string& { return one.vote.part.name; });
    is_proven = own != pending_.end() && !own->vote.part.on.empty() && chain.size() < pending_.size() &&
                own->vote.shards == rules_.shards && (!rules_.synchronous || own->vote.lineage == lineage_);
    if (!is_proven) break;
    at = own->vote.part.on;
    chain.push_back(*own);
    chain.back().vote.epoch = epoch_;
    chain.back().vote.base.reset();
    chain.back().voted = false;
  }
  if (!is_proven) {
    forget_base();
    chain.clear();
  }
  std::ranges::reverse(chain);
  pending_ = std::move(chain);
}

DISTRIB_DECL auto ExportCore::committed_part() const -> const LogPart* {
  if (!view_.manifest || view_.manifest->parts.size() != rules_.shards) return nullptr;
  return &view_.manifest->parts[rules_.shard];
}

// Drops the parts that are committed, and those that never will be.
DISTRIB_DECL void ExportCore::note_committed(ExportActions& out) {
  note_named_bases(out);
  const LogPart* const committed = committed_part();
  const auto is_committed = [&](const std::string& part) { return committed != nullptr && committed->name == part; };
  const auto own = std::ranges::find_if(pending_, [&](const Pending& one) { return is_committed(one.vote.part.name); });
  if (own != pending_.end()) {
    for (auto counted = pending_.begin(); counted <= own; ++counted)
      if (counted->voted) out.emplace_back(export_action::Remove{vote_name(counted->vote.label, rules_.shard, epoch_)});
    pending_.erase(pending_.begin(), own + 1);
    is_blocked_ = false;
  }
  // Who compacts a log, and a job with another number of shards, commit parts that this shard did not write. What
  // follows from its own has to be full then. The label of an asynchronous job is a position: it is in time only for
  // that.
  const auto can_be_committed = [&](const LogVote& first) {
    if (!rules_.synchronous && first.label <= view_.head.position) return false;
    return first.part.is_full() || is_committed(first.part.on);
  };
  const bool follows =
      pending_.empty() ? base_.empty() || is_committed(base_) : can_be_committed(pending_.front().vote);
  if (follows) return;
  forget_base();
  pending_.clear();
}

// The next part has to be full.
DISTRIB_DECL void ExportCore::forget_base() {
  base_.clear();
  for (Taken& one : taken_) one.counts = false;
  give_up_own_base();
}

// Removes bases that no position has named, and none will. The newest position has the newest bases of all positions
// since the last one with all rows.
DISTRIB_DECL void ExportCore::note_named_bases(ExportActions& out) {
  if (!view_.manifest) return;
  const bool has_bases = !view_.manifest->bases.empty();
  const std::uint64_t named = has_bases ? view_.manifest->bases.front().label : 0;
  if (has_bases && own_base_ && own_base_->base.label <= named) {
    own_base_.reset();
    if (misses_ != 0) --misses_;
  }
  std::erase_if(given_up_, [&](const OwnBase& one) {
    if (!is_decided(one.last_label)) return false;
    // Otherwise a position may have named it: then it goes when its position goes.
    const bool is_unnamed =
        has_bases ? one.base.label > named : !view_.manifest->is_base() && newest_full_ <= one.base.label;
    if (one.last_label == 0 || is_unnamed) out.emplace_back(export_action::Remove{one.base.name});
    return true;
  });
}

DISTRIB_DECL void ExportCore::give_up_own_base() {
  if (!own_base_) return;
  if (!own_base_->base.name.empty()) given_up_.push_back(std::move(*own_base_));
  own_base_.reset();
  ++misses_;
}

// A base that not all shards write is never named. After it the turns are further apart: then also shards for which a
// base takes longer than a turn begin at one label.
DISTRIB_DECL auto ExportCore::wants_base(std::uint64_t number) const -> bool {
  if (own_base_ && own_base_->base.name.empty()) return false;  // it is being written
  constexpr std::uint64_t most_doublings = 6;
  const std::uint64_t doublings = std::min(misses_ + (own_base_ ? 1U : 0U), most_doublings);
  if (number % (rules_.base_every << doublings) == 0) return true;
  return number % (rules_.base_turn << doublings) == 0 && view_.manifest && view_.manifest->outweighs_base();
}

DISTRIB_DECL auto ExportCore::is_decided(std::uint64_t label) const -> bool {
  if (!rules_.synchronous) return label <= view_.head.position;
  return view_.manifest && view_.manifest->lineage == lineage_ && label <= view_.manifest->step;
}

DISTRIB_DECL auto ExportCore::may_commit(const LogVote& own) const -> bool {
  if (!rules_.synchronous) return own.label == view_.head.position + 1;
  return own.lineage == lineage_ && !is_decided(own.label);
}

DISTRIB_DECL void ExportCore::ask_for_votes(ExportActions& out) {
  while (candidate_ < pending_.size() && !(pending_[candidate_].voted && may_commit(pending_[candidate_].vote)))
    ++candidate_;
  if (candidate_ >= pending_.size()) return;
  const std::vector<std::uint64_t>& epochs = view_.head.epochs;
  if (epochs.size() < rules_.shards) return;  // not all shards have started
  export_action::ReadVotes asked;
  for (std::uint32_t shard = 0; shard < rules_.shards; ++shard)
    asked.names.push_back(vote_name(pending_[candidate_].vote.label, shard, epochs[shard]));
  phase_ = Phase::reading_votes;
  out.emplace_back(std::move(asked));
}

DISTRIB_DECL auto ExportCore::all_vote(std::span<const std::optional<LogVote>> votes, const LogVote& own) const
    -> bool {
  if (votes.size() != rules_.shards) return false;
  for (std::size_t shard = 0; shard < votes.size(); ++shard) {
    const std::optional<LogVote>& vote = votes[shard];
    if (!vote || vote->shards != rules_.shards || vote->shard != shard || vote->label != own.label) return false;
    if (vote->epoch != view_.head.epochs[shard]) return false;
    if (rules_.synchronous && (vote->lineage != lineage_ || vote->step != own.step)) return false;
    if (vote->tables.size() != own.tables.size()) return false;
    for (std::size_t table = 0; table < own.tables.size(); ++table)
      if (!vote->tables[table].same_settings(own.tables[table])) return false;
  }
  return true;
}

DISTRIB_DECL auto ExportCore::follows_committed(const LogPart& part, std::size_t shard) const -> bool {
  const bool same_shards = view_.manifest && view_.manifest->parts.size() == rules_.shards;
  return part.is_full() || (same_shards && view_.manifest->parts[shard].name == part.on);
}

DISTRIB_DECL auto ExportCore::manifest_of(std::span<const std::optional<LogVote>> votes) const -> LogManifest {
  LogManifest manifest;
  manifest.log = view_.head.log;
  manifest.position = view_.head.position + 1;
  manifest.before = view_.head.manifest;
  manifest.lineage = rules_.synchronous ? lineage_ : 0;
  manifest.tables = votes.front()->tables;
  for (const std::optional<LogVote>& vote : votes) {
    manifest.step = std::max(manifest.step, vote->step);
    manifest.parts.push_back(vote->part);
    if (&vote == votes.data()) continue;
    for (std::size_t table = 0; table < manifest.tables.size(); ++table) {
      manifest.tables[table].rows += vote->tables[table].rows;
      manifest.tables[table].digest += vote->tables[table].digest;
    }
  }
  if (!manifest.is_base()) {  // so it follows a position of as many shards
    manifest.bases = view_.manifest->bases;
    const auto is_of_one_label = [&](const std::optional<LogVote>& vote) {
      return vote->base && vote->base->label == votes.front()->base->label;
    };
    const bool has_bases = votes.front()->base && std::ranges::all_of(votes, is_of_one_label);
    if (has_bases && (manifest.bases.empty() || manifest.bases.front().label < votes.front()->base->label)) {
      manifest.bases.clear();
      for (const std::optional<LogVote>& vote : votes) manifest.bases.push_back(*vote->base);
    }
  }
  manifest.add_up_bytes(view_.manifest ? &*view_.manifest : nullptr);
  return manifest;
}

DISTRIB_DECL void ExportCore::votes_read(std::span<const std::optional<LogVote>> votes, ExportActions& out) {
  phase_ = Phase::idle;
  if (candidate_ >= pending_.size()) return;
  const LogVote& own = pending_[candidate_].vote;
  const bool all = all_vote(votes, own);
  bool fit = all;
  for (std::size_t shard = 0; fit && shard < votes.size(); ++shard) fit = follows_committed(votes[shard]->part, shard);
  if (all && !follows_committed(own.part, rules_.shard) && std::exchange(looks_for_blocked_, false)) {
    // Seen twice: the vote for the position before may have come between two reads.
    if (std::exchange(blocked_label_, own.label) == own.label) is_blocked_ = true;
  }
  if (!fit) {
    ++candidate_;
    return ask_for_votes(out);
  }
  next_manifest_ = manifest_of(votes);
  std::string text = to_text(next_manifest_);
  next_head_ = view_.head;
  next_head_.position = next_manifest_.position;
  next_head_.manifest = manifest_name(next_manifest_.position, text);
  phase_ = Phase::committing;
  out.emplace_back(export_action::Put{next_head_.manifest, std::move(text)});
  out.emplace_back(export_action::SwapHead{view_.version, next_head_});
}

DISTRIB_DECL auto ExportCore::plan(std::uint64_t step, const RowDigest& state, std::uint64_t number_of_export,
                                   bool all_rows) -> ExportPlan {
  if (!has_started()) return {};  // what changes is counted on
  const LogPart* const committed = committed_part();
  if (rules_.synchronous && view_.manifest && view_.manifest->lineage == lineage_ && step <= view_.manifest->step) {
    // Computed again, and already in the log. At the very step the digest proves it, and deltas go on from there.
    const bool is_proven = step == view_.manifest->step && committed != nullptr && committed->state == state;
    forget_base();
    if (is_proven) base_ = committed->name;
    pending_.clear();
    ExportPlan nothing;
    nothing.forget_changes = is_proven;
    return nothing;
  }
  ExportPlan plan;
  plan.label = rules_.synchronous ? step : view_.head.position + 1;
  plan.forget_changes = true;
  const auto is_same = [&](const Pending& one) { return one.vote.label == plan.label; };
  const auto will_be_same = [&](const Taken& one) { return one.label == plan.label; };
  if (std::ranges::any_of(pending_, is_same) || std::ranges::any_of(taken_, will_be_same))
    return {};  // this position waits for other shards
  std::uint64_t number = rules_.synchronous ? plan.label / rules_.every : plan.label;
  if (number_of_export != 0) number = number_of_export;
  // At the same labels on all shards: otherwise each would stand on a part of its own that is not committed. Parts that
  // are not written yet say nothing about the other shards: they wait for a large one.
  const bool ends_chain = pending_.size() >= rules_.most_pending && number % rules_.most_pending == 0;
  const bool is_full = all_rows || is_blocked_ || !has_base() || ends_chain;
  plan.kind = is_full ? ExportPlan::Kind::full : ExportPlan::Kind::delta;
  plan.on_taken = !is_full && follows_taken();
  if (!is_full && !plan.on_taken) plan.on = base_;
  plan.with_base = !is_full && wants_base(number);
  planned_label_ = plan.label;
  return plan;
}

DISTRIB_DECL void ExportCore::written(std::uint64_t step, LogPart part, std::vector<LogTable> tables) {
  Taken of{planned_label_, true};
  if (!taken_.empty()) {
    of = taken_.front();
    taken_.erase(taken_.begin());
  }
  if (!of.counts) return;
  base_ = part.name;
  if (part.is_full()) newest_full_ = of.label;
  if (own_base_ && own_base_->base.label == of.label) own_base_->base.of = part.name;
  const bool follows_own_base = own_base_ && own_base_->base.label < of.label;
  if (part.is_full() && follows_own_base) give_up_own_base();  // no delta leads back to it
  if (part.is_full() && pending_.size() >= rules_.most_pending) pending_.clear();  // nothing waits for them
  LogVote vote;
  vote.label = of.label;
  vote.step = step;
  vote.lineage = lineage_;
  vote.shard = rules_.shard;
  vote.shards = rules_.shards;
  vote.epoch = epoch_;
  vote.part = std::move(part);
  vote.tables = std::move(tables);
  if (own_base_ && follows_own_base && own_base_->is_complete()) {
    vote.base = own_base_->base;
    own_base_->last_label = of.label;
  }
  pending_.push_back({std::move(vote), false});
}

DISTRIB_DECL void ExportCore::base_taken() {
  give_up_own_base();
  own_base_ = OwnBase{};
  own_base_->base.label = planned_label_;
}

DISTRIB_DECL void ExportCore::base_written(std::uint64_t label, std::string name, std::uint64_t bytes) {
  if (own_base_ && own_base_->base.label == label) {
    own_base_->base.name = std::move(name);
    own_base_->base.bytes = bytes;
  } else {  // given up while it was written: no vote carries it
    given_up_.push_back({{label, {}, std::move(name), bytes}, 0});
  }
}

DISTRIB_DECL void ExportCore::base_dropped(std::uint64_t label) {
  if (own_base_ && own_base_->base.label == label) give_up_own_base();
}

DISTRIB_DECL void ExportCore::vote(ExportActions& out) {
  if (!has_started()) return;
  for (Pending& one : pending_) {
    if (std::exchange(one.voted, true)) continue;
    out.emplace_back(export_action::Put{vote_name(one.vote.label, rules_.shard, epoch_), to_text(one.vote)});
  }
}

DISTRIB_DECL auto ExportCore::mark() const -> ExportMark {
  ExportMark mark;
  mark.base = base_;
  for (const Pending& one : pending_) {
    mark.votes.push_back(one.vote);
    mark.votes.back().base.reset();  // it is of this process
  }
  return mark;
}

}  // namespace v0
}  // namespace distrib
