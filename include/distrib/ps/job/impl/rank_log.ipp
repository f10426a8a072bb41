// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/rank_log.hpp>

#include <algorithm>
#include <functional>
#include <iterator>
#include <numeric>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto RankEntry::place_of(Rank rank) const noexcept -> Rank {
  return static_cast<Rank>(std::lower_bound(ranks.begin(), ranks.end(), rank) - ranks.begin());
}

DISTRIB_DECL auto RankEntry::has(Rank rank) const noexcept -> bool {
  return std::binary_search(ranks.begin(), ranks.end(), rank);
}

DISTRIB_DECL auto is_rank_entry(const RankEntry& entry, Rank most_ranks) noexcept -> bool {
  if (entry.from == 0 || entry.number == 0 || entry.ranks.empty() || entry.ranks.front() != 0) return false;
  if (entry.ranks.back() >= most_ranks || !is_rank_rate(entry.rate)) return false;
  return std::ranges::adjacent_find(entry.ranks, std::greater_equal<>{}) == entry.ranks.end();
}

DISTRIB_DECL RankLog::RankLog(Rank ranks) {
  const auto first = std::make_shared<RankEntry>();
  first->ranks.resize(ranks);
  std::iota(first->ranks.begin(), first->ranks.end(), Rank{0});
  entries_.push_back(first);
}

DISTRIB_DECL auto RankLog::add(SharedRankEntry entry) -> bool {
  const auto at = std::ranges::lower_bound(entries_, entry->from, {}, [](const auto& one) { return one->from; });
  if (at == entries_.end() || (*at)->from != entry->from) {
    entries_.insert(at, std::move(entry));
    return true;
  }
  if (*entry <= **at) return false;
  *at = std::move(entry);
  return true;
}

DISTRIB_DECL void RankLog::add(const RankLog& other) {
  for (const SharedRankEntry& entry : other.entries_)
    if (entry->number != 0) add(entry);
}

DISTRIB_DECL auto RankLog::has_room_for(std::size_t ranks) const noexcept -> bool {
  for (const SharedRankEntry& entry : entries_) ranks += entry->ranks.size();
  return entries_.size() < max_rank_entries && ranks <= max_logged_ranks;
}

DISTRIB_DECL auto RankLog::index_of(Step step) const noexcept -> std::size_t {
  const auto after = std::ranges::upper_bound(entries_, step, {}, [](const auto& one) { return one->from; });
  return after == entries_.begin() ? 0 : static_cast<std::size_t>(after - entries_.begin()) - 1;
}

DISTRIB_DECL auto RankLog::entry_of(Step step) const noexcept -> const SharedRankEntry& {
  return entries_[index_of(step)];
}

DISTRIB_DECL auto RankLog::ranks_after(Step step) const -> std::vector<Rank> {
  std::vector<Rank> ranks;
  for (std::size_t i = index_of(step + 1); i < entries_.size(); ++i)
    ranks.insert(ranks.end(), entries_[i]->ranks.begin(), entries_[i]->ranks.end());
  std::ranges::sort(ranks);
  ranks.erase(std::unique(ranks.begin(), ranks.end()), ranks.end());
  return ranks;
}

DISTRIB_DECL auto RankLog::is_rank_after(Step step, Rank rank) const noexcept -> bool {
  const auto from = entries_.begin() + static_cast<std::ptrdiff_t>(index_of(step + 1));
  return std::any_of(from, entries_.end(), [rank](const SharedRankEntry& entry) { return entry->has(rank); });
}

DISTRIB_DECL auto RankLog::number_of(Step step, Rank rank) const noexcept -> std::uint64_t {
  const std::size_t last = index_of(step);
  std::uint64_t number = 0;
  for (std::size_t i = 0; i < last; ++i)
    number += (entries_[i + 1]->from - entries_[i]->from) * entries_[i]->ranks.size();
  const RankEntry& entry = *entries_[last];
  return number + (step - entry.from) * entry.ranks.size() + entry.place_of(rank);
}

DISTRIB_DECL auto RankLog::next_step(Step after, Rank rank, std::uint64_t contributions) const noexcept -> Step {
  for (std::size_t i = index_of(after + 1); i < entries_.size(); ++i) {
    if (!entries_[i]->has(rank)) continue;
    const Step step = std::max(after + 1, entries_[i]->from);
    // Each step has a contribution: so the number of a step that is farther is no smaller, and may be too large to count.
    return step <= contributions && number_of(step, rank) < contributions ? step : 0;
  }
  return 0;
}

DISTRIB_DECL auto RankLog::step_before(Step step, Rank rank) const noexcept -> Step {
  Step last = step - 1;  // of the entry that is looked at
  for (std::size_t i = step > 1 ? index_of(last) + 1 : 0; i > 0; --i) {
    const RankEntry& entry = *entries_[i - 1];
    if (entry.has(rank)) return last;
    last = entry.from - 1;
  }
  return 0;
}

DISTRIB_DECL auto RankLog::step_of(std::uint64_t number) const noexcept -> Step {
  std::size_t i = 0;
  for (; i + 1 < entries_.size(); ++i) {
    const Step steps = entries_[i + 1]->from - entries_[i]->from;
    if (number / entries_[i]->ranks.size() < steps) break;  // their product may be too large to count
    number -= steps * entries_[i]->ranks.size();
  }
  return entries_[i]->from + number / entries_[i]->ranks.size();
}

DISTRIB_DECL auto RankLog::last_ranks(std::uint64_t contributions) const -> std::vector<Rank> {
  const Step step = step_of(contributions - 1);
  const std::vector<Rank>& all = entry_of(step)->ranks;
  return {all.begin(), all.begin() + static_cast<std::ptrdiff_t>(contributions - contributions_through(step - 1))};
}

DISTRIB_DECL auto RankLog::contributions_through(Step step) const noexcept -> std::uint64_t {
  return number_of(step + 1, 0);  // no rank is below rank 0, so its place is 0, also if it is none of the ranks
}

DISTRIB_DECL auto RankLog::operator==(const RankLog& other) const noexcept -> bool {
  return std::ranges::equal(entries_, other.entries_,
                            [](const auto& ours, const auto& theirs) { return ours == theirs || *ours == *theirs; });
}

}  // namespace v0
}  // namespace distrib
