// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/sync_shard_core.hpp>

#include <iterator>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL SyncShardCore::SyncShardCore(const Job& job, std::uint32_t shard, const JobUpdaters& updaters,
                                          std::uint64_t table_budget_bytes)
    : ranks_{job.rank_names()},
      contributions_per_step_{job.consistency.replicas_to_aggregate(ranks_)},
      total_steps_{job.total_steps},
      cut_interval_{job.cut_interval},
      window_{contribution_window(job)},
      store_{job, shard, updaters, table_budget_bytes},
      awaited_{job, shard},
      newest_(ranks_),
      processes_(ranks_),
      tells_history_{contributions_per_step_ == ranks_},
      replayable_{job.replayable},
      settings_{settings_hash(job)} {
  if (job.reduction == ReductionOrder::tree) {
    Job before = job;
    before.reduction = ReductionOrder::rank_order;
    in_rank_order_ = settings_hash(before);
  }
  if (job.most_ranks != 0) rank_log_.emplace(job.ranks, job.most_ranks, can_scale_rates(job, updaters));
  if (job.erases_keys) {
    const auto& tables = store_.layout().tables();
    erase_log_.emplace(total_steps_, std::vector<TableShare>(tables.begin(), tables.end()));
  }
  store_.keep_previous(true);
  go_on_from(0, {});
}

DISTRIB_DECL SyncShardCore::SyncShardCore(const Job& job, std::uint32_t shard, const JobUpdaters& updaters,
                                          const Cut& newest, std::vector<DurableCut> cuts,
                                          std::uint64_t table_budget_bytes)
    : SyncShardCore{job, shard, updaters, table_budget_bytes} {
  store_.load(newest);
  awaited_.begin_at(k_ = newest.step);
  newest_.assign(ranks_, {k_});
  for (DurableCut& cut : cuts)
    if (cut.step != 0) lineages_[cut.step] = std::move(cut.lineage);
  go_on_from(k_, newest.lineage);
}

DISTRIB_DECL auto SyncShardCore::named_progress() const -> Progress {
  Progress named = progress();
  // all cuts are of this history, and its settings never changed
  const bool is_plain = has_one_setting() && lineages_.size() + 1 == cuts_.size();
  if (!tells_history_ || is_plain) return named;
  named.all_cuts.push_back({0, Lineage{}.digest()});
  for (const auto& [step, lineage] : lineages_) named.all_cuts.push_back({step, lineage.digest()});
  return named;
}

DISTRIB_DECL void SyncShardCore::go_on_from(Step k, const Lineage& made) {
  if (tells_history_) {
    const Lineage earlier = made.until(k);
    const bool has_tree = in_rank_order_ != Sha256Digest{};
    const bool began_in_order = has_tree && !earlier.empty() && earlier.entries().back().settings == in_rank_order_;
    // sums of the other kind cannot be continued: their workers send the contributions again
    if (std::exchange(in_tree_, has_tree && !began_in_order) != in_tree_) contributions_.clear();
    lineage_ = made.continued(k, began_in_order ? in_rank_order_ : settings_);
    // what is stored was made in the history before; workers send theirs again
    if (std::exchange(history_, lineage_.digest()) != history_) {
      contributions_.clear();
      checksums_.erase(checksums_.lower_bound({k + 1, {}}), checksums_.end());
    }
  }
  find_own_cuts();
}

DISTRIB_DECL void SyncShardCore::find_own_cuts() {
  cuts_ = {0};
  for (const auto& [step, lineage] : lineages_)
    if (!tells_history_ || lineage == lineage_.until(step)) cuts_.push_back(step);
}

// Rule 2: keeps the checksums of contributions after the newest cut up to k, for at most as many steps back as the
// window has. Returns false if a contribution of the same name arrived earlier with other bytes.
DISTRIB_DECL auto SyncShardCore::remember(Step step, RankBlock ranks, std::uint32_t checksum) -> bool {
  if (contributions_per_step_ < ranks_) return true;
  if (k_ > window_) checksums_.erase(checksums_.begin(), checksums_.lower_bound({k_ - window_, {}}));
  const Step cut = *std::prev(std::upper_bound(cuts_.begin(), cuts_.end(), k_));
  if (step <= cut || step > k_ + window_) return true;
  return checksums_.insert({{step, ranks}, checksum}).first->second == checksum;
}

DISTRIB_DECL auto SyncShardCore::hear(const Contribution& given) -> std::error_code {
  const RankEntry* const entry = given.entry.get();
  if (entry == nullptr || entry->from > given.step || !entry->has(given.rank)) return ps_errc::unknown_rank;
  if (!is_rank_entry(*entry, ranks_) && *entry != *rank_log_->first()) return ps_errc::unknown_rank;
  const bool is_kept = given.step > k_ && given.step <= k_ + window_;
  if (is_kept && !contributions_[given.step].state(given.entry)) return ps_errc::ranks_differ;
  rank_log_->hear(given.entry);
  return {};
}

DISTRIB_DECL auto SyncShardCore::all_said_goodbye() const -> bool {
  if (!rank_log_) {
    const auto says_none = [this](Rank rank) { return !goodbyes_.contains(rank); };
    return goodbyes_.size() + static_cast<std::size_t>(std::ranges::count_if(vacant_, says_none)) == ranks_;
  }
  const std::vector<Rank>& last = rank_log_->log()->entry_of(total_steps_)->ranks;
  return std::ranges::all_of(last, [this](Rank rank) { return goodbyes_.contains(rank); });
}

DISTRIB_DECL auto SyncShardCore::count_processes(RankBlock ranks, int change) -> bool {
  bool others = false;
  for (Rank rank = ranks.first; rank < ranks.end(ranks_); ++rank) {
    processes_[rank] += static_cast<std::uint32_t>(change);
    others = others || processes_[rank] != 0;
  }
  return others;
}

DISTRIB_DECL auto SyncShardCore::others_made_newest(Peer peer, RankBlock ranks) const -> bool {
  for (Rank rank = ranks.first; rank < ranks.end(ranks_); ++rank)
    if (!newest_[rank].is_from_another(peer, peers_)) return false;
  return true;
}

}  // namespace v0
}  // namespace distrib
