// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/server/rank_dealer.hpp>

#include <algorithm>
#include <iterator>
#include <tuple>
#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void RankDealer::asked(const AskingProcess& process, std::span<const Rank> serves, Instant now) {
  if (replaced_.contains(process.id)) return;
  const bool is_new = !processes_.contains(process.id);
  if (is_new) take_place_of_earlier(process);
  Process& known = processes_[process.id];
  known.index = process.index;
  known.is_chief = process.is_chief;
  known.heard = now;
  // This dealer has started after the process, or had lost it: it keeps its ranks, unless others have them.
  for (const Rank rank : is_new ? serves : std::span<const Rank>{}) {
    if (!is_told_ && rank < process.most_ranks) want(rank);
    if (is_wanted(rank) && owners_[rank] == 0) give(process.id, rank);
  }
  if (is_new || !has_dealt_) deal(now);
}

DISTRIB_DECL void RankDealer::left(std::uint64_t process, Instant now) {
  remove(process);
  replaced_.insert(process);
  deal(now);
}

DISTRIB_DECL void RankDealer::wants(std::vector<Rank> ranks, Instant now) {
  is_told_ = true;
  if (ranks.empty() || ranks.front() != 0) ranks.insert(ranks.begin(), 0);
  if (ranks == wanted_) return;
  const std::vector<Rank> before = std::exchange(wanted_, {});
  for (const Rank rank : ranks) want(rank);
  for (const Rank rank : before)
    if (!is_wanted(rank)) take(rank);
  deal(now);
}

DISTRIB_DECL auto RankDealer::is_wanted(Rank rank) const -> bool {
  return std::binary_search(wanted_.begin(), wanted_.end(), rank);
}

DISTRIB_DECL void RankDealer::want(Rank rank) {
  const auto at = std::lower_bound(wanted_.begin(), wanted_.end(), rank);
  if (at == wanted_.end() || *at != rank) wanted_.insert(at, rank);
  owners_.resize(std::max<std::size_t>(owners_.size(), std::size_t{rank} + 1));
}

DISTRIB_DECL void RankDealer::look(Instant now) {
  std::vector<std::uint64_t> lost;
  for (const auto& [id, process] : processes_)
    if (now >= instant_after(process.heard, times_.adopt_after)) lost.push_back(id);
  for (const std::uint64_t id : lost) remove(id);
  if (!lost.empty() || !has_dealt_) deal(now);
}

DISTRIB_DECL auto RankDealer::dealt(std::uint64_t process) const -> std::vector<Rank> {
  const auto known = processes_.find(process);
  if (known == processes_.end()) return {};
  return {known->second.ranks.begin(), known->second.ranks.end()};
}

DISTRIB_DECL auto RankDealer::wake() const -> std::optional<Instant> {
  if (processes_.empty()) return std::nullopt;
  Instant first = has_dealt_ ? Instant::max() : deals_from_;
  for (const auto& [id, process] : processes_)
    first = std::min(first, instant_after(process.heard, times_.adopt_after));
  return first;
}

DISTRIB_DECL void RankDealer::deal(Instant now) {
  if (processes_.empty()) return;
  has_dealt_ = has_dealt_ || now >= deals_from_ || processes_.size() >= expected_;
  if (has_dealt_) level();
}

DISTRIB_DECL void RankDealer::level() {
  const std::map<std::uint64_t, std::size_t> quota = quotas();
  for (const auto& [id, process] : processes_)
    if (process.is_chief && owners_[0] != id) {
      take(0);
      give(id, 0);
    }
  for (auto& [id, process] : processes_)
    while (process.ranks.size() > quota.at(id)) take(*process.ranks.rbegin());
  std::vector<std::pair<std::uint32_t, std::uint64_t>> in_order;  // index, id
  for (const auto& [id, process] : processes_) in_order.emplace_back(process.index, id);
  std::ranges::sort(in_order);
  auto next = wanted_.begin();
  for (const auto& [index, id] : in_order)
    for (std::size_t has = processes_.at(id).ranks.size(); has < quota.at(id); ++has) {
      while (owners_[*next] != 0) ++next;
      give(id, *next);
    }
}

// The chief comes first, so that it has a rank if there are more processes than ranks; then those that have most, so
// that few ranks move.
DISTRIB_DECL auto RankDealer::quotas() const -> std::map<std::uint64_t, std::size_t> {
  struct Place {
    bool is_chief;
    std::size_t has;
    std::uint32_t index;
    std::uint64_t id;
  };
  std::vector<Place> places;
  for (const auto& [id, process] : processes_)
    places.push_back({process.is_chief, process.ranks.size(), process.index, id});
  std::ranges::sort(places, [](const Place& a, const Place& b) {
    return std::tuple{b.is_chief, b.has, a.index, a.id} < std::tuple{a.is_chief, a.has, b.index, b.id};
  });
  const std::size_t each = wanted_.size() / places.size();
  const std::size_t more = wanted_.size() % places.size();
  std::map<std::uint64_t, std::size_t> quota;
  for (std::size_t i = 0; i < places.size(); ++i) quota[places[i].id] = each + (i < more ? 1 : 0);
  return quota;
}

DISTRIB_DECL void RankDealer::give(std::uint64_t process, Rank rank) {
  ++version_;
  owners_[rank] = process;
  processes_.at(process).ranks.insert(rank);
}

DISTRIB_DECL void RankDealer::take(Rank rank) {
  ++version_;
  const std::uint64_t owner = std::exchange(owners_[rank], 0);
  if (owner != 0) processes_.at(owner).ranks.erase(rank);
}

DISTRIB_DECL void RankDealer::remove(std::uint64_t process) {
  const auto known = processes_.find(process);
  if (known == processes_.end()) return;
  ++version_;
  for (const Rank rank : known->second.ranks) owners_[rank] = 0;
  processes_.erase(known);
}

DISTRIB_DECL void RankDealer::take_place_of_earlier(const AskingProcess& process) {
  const auto earlier =
      std::ranges::find_if(processes_, [&](const auto& known) { return known.second.index == process.index; });
  if (earlier == processes_.end()) return;
  const std::uint64_t id = earlier->first;
  const std::set<Rank> ranks = earlier->second.ranks;
  remove(id);
  replaced_.insert(id);
  processes_[process.id];
  for (const Rank rank : ranks) give(process.id, rank);
}

}  // namespace v0
}  // namespace distrib
