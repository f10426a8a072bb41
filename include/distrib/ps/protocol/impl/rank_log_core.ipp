// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/rank_log_core.hpp>

#include <distrib/ps/job/error.hpp>

#include <algorithm>
#include <memory>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL RankLogCore::RankLogCore(Rank ranks, Rank most_ranks, bool scales_rates)
    : most_ranks_{most_ranks},
      scales_rates_{scales_rates},
      log_{std::make_shared<const RankLog>(ranks)},
      first_{log_->entry_of(1)} {}

DISTRIB_DECL void RankLogCore::open(const std::optional<RankFile>& file, Step steps_ahead) {
  steps_ahead_ = std::max<Step>(steps_ahead, 1);
  if (!file) return;
  RankLog log = *log_;
  for (const SharedRankEntry& entry : file->entries) log.add(entry);
  log_ = std::make_shared<const RankLog>(std::move(log));
  horizon_ = file->horizon;
}

DISTRIB_DECL void RankLogCore::propose(std::uint64_t caller, RankEntry entry) {
  if (asked_.size() == most_asked) return answers_.push_back({caller, false, horizon_, ps_errc::too_many_changes});
  asked_.push_back({caller, std::make_shared<const RankEntry>(std::move(entry))});
}

DISTRIB_DECL void RankLogCore::hear(const SharedRankEntry& entry) {
  if (entry->number == 0) return;
  const SharedRankEntry& known = log_->entry_of(entry->from);
  if (known == entry || *known == *entry || !log_->has_room_for(entry->ranks.size())) return;
  RankLog log = *log_;
  if (!log.add(entry)) return;
  log_ = std::make_shared<const RankLog>(std::move(log));
  heard_ = true;
}

DISTRIB_DECL auto RankLogCore::refuses(const RankEntry& entry, const RankLog& log, Step newest) const
    -> std::error_code {
  if (entry.rate != RankRate{} && (!scales_rates_ || !is_rank_rate(entry.rate))) return ps_errc::bad_rate;
  if (!is_rank_entry(entry, most_ranks_)) return ps_errc::bad_ranks;
  // without the horizon: a shard that has lost its file, or has another number than before, has one that is too low
  if (entry.from <= std::max(horizon_, newest)) return ps_errc::ranks_too_soon;
  return log.has_room_for(entry.ranks.size()) ? std::error_code{} : ps_errc::too_many_changes;
}

DISTRIB_DECL auto RankLogCore::next_write(Step newest) -> std::optional<RankFile> {
  if (steps_ahead_ == 0 || writing_) return std::nullopt;
  RankLog log = *log_;
  for (Asked& asked : std::exchange(asked_, {})) {
    const bool is_known = *log.entry_of(asked.entry->from) == *asked.entry;  // it was asked before
    const std::error_code why = is_known ? std::error_code{} : refuses(*asked.entry, log, newest);
    if (why) {
      answers_.push_back({asked.caller, false, horizon_, why});
      continue;
    }
    log.add(asked.entry);
    taken_.push_back(std::move(asked));
  }
  const Step horizon = newest + steps_ahead_ / 2 >= horizon_ ? newest + 1 + steps_ahead_ : horizon_;
  if (taken_.empty() && !heard_ && horizon == horizon_) return std::nullopt;
  writes_heard_ = std::exchange(heard_, false);
  writing_ = horizon;
  RankFile file{horizon, {}};
  for (const SharedRankEntry& entry : log.entries())
    if (entry->number != 0) file.entries.push_back(entry);
  return file;
}

DISTRIB_DECL void RankLogCore::written() {
  if (!writing_) return;
  horizon_ = std::max(horizon_, *std::exchange(writing_, std::nullopt));
  writes_heard_ = false;
  if (taken_.empty()) return;
  RankLog log = *log_;
  for (const Asked& taken : std::exchange(taken_, {})) {
    log.add(taken.entry);
    answers_.push_back({taken.caller, true, horizon_});
  }
  log_ = std::make_shared<const RankLog>(std::move(log));
}

}  // namespace v0
}  // namespace distrib
