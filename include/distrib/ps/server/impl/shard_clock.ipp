// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/server/shard_clock.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL ShardClock::ShardClock(const ShardOptions& options, const ShardIdentity& identity, Instant now)
    : away_{detail::bounded_time(options.lease) + detail::bounded_time(options.restart_window)},
      linger_{options.linger},
      pause_{options.save_again_after},
      was_finished_{identity.finished},
      since_{now},
      ranks_(identity.ranks) {
  for (const RankState& rank : ranks_) away_since_.insert(rank.since);
}

DISTRIB_DECL void ShardClock::opened(Instant now, bool replicated, bool needs_no_rank, Rank names, Rank spare) {
  if (names > ranks_.size()) ranks_.resize(names);
  opened_ = true;
  replicated_ = replicated;
  needs_no_rank_ = needs_no_rank;
  spare_ = needs_no_rank ? 0 : spare;
  since_ = now;
  away_since_.clear();
  for (RankState& rank : ranks_) {
    rank.since = now;
    if (is_away(rank)) away_since_.insert(away_since_.end(), now);
  }
}

DISTRIB_DECL void ShardClock::parted(Rank rank, Instant now) {
  ranks_[rank].since = now;
  --ranks_[rank].peers;
  if (is_away(ranks_[rank])) away_since_.insert(now);
  --joined_;
  if (!is_awaited(rank) || --awaited_ != 0) return;
  since_ = now;
  if (replicated_) ask_ = now;
}

DISTRIB_DECL void ShardClock::waits_only_for(std::span<const Rank> last, Instant now) {
  last_.assign(last.begin(), last.end());
  awaited_ = 0;
  for (Rank rank = 0; rank < ranks_.size(); ++rank)
    if (is_awaited(rank)) awaited_ += ranks_[rank].peers;
  since_ = now;
}

DISTRIB_DECL auto ShardClock::look(Instant now, bool complete) const -> Verdict {
  if (now < verdict_at(complete)) return {};
  if (!opened_ && !was_finished_) return {Verdict::Kind::nobody_came, 0};
  if (!opened_ || complete) return {Verdict::Kind::finished, 0};
  for (Rank rank = 0; rank < ranks_.size(); ++rank)
    if (is_away(ranks_[rank]) && now >= lost_at(ranks_[rank].since))
      return {rank != 0 && vacant_ < spare_ ? Verdict::Kind::vacant : Verdict::Kind::lost, rank};
  return {};
}

DISTRIB_DECL auto ShardClock::lost_at(Instant since) const -> Instant {
  if (needs_no_rank_) return joined_ == 0 ? instant_after(since_, away_) : Instant::max();
  return instant_after(since, away_);
}

DISTRIB_DECL auto ShardClock::verdict_at(bool complete) const -> Instant {
  if (!opened_) return instant_after(since_, was_finished_ ? linger_ : away_);
  if (complete) return awaited_ == 0 ? instant_after(since_, linger_) : Instant::max();
  return away_since_.empty() ? Instant::max() : lost_at(*away_since_.begin());
}

}  // namespace v0
}  // namespace distrib
