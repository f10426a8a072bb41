// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/detail/replica_views.hpp>

#include <distrib/ps/job/lineage.hpp>

#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void ReplicaView::stand_at(Progress heard) {
  progress = std::move(heard);
  sent_back = progress.done < stood || (sent_back && progress.done == stood);
  stood = progress.done;
}

DISTRIB_DECL void ReplicaView::learn(Progress heard) {
  if (heard.history == progress.history) heard.done = std::max(progress.done, heard.done);
  if (heard.all_cuts.empty()) heard.all_cuts = std::move(progress.all_cuts);  // the replica sends them only with Joined
  progress = std::move(heard);
  sent_back = sent_back && progress.done <= stood;
  stood = std::max(stood, progress.done);
  if (!lame || progress.done <= helped_at) return;
  lame = false;
  live = true;
}

DISTRIB_DECL auto ReplicaView::names() const -> std::vector<NamedCut> {
  if (!progress.all_cuts.empty()) return progress.all_cuts;
  std::vector<NamedCut> names;
  for (const Step step : progress.cuts) names.push_back({step, step == 0 ? Lineage{}.digest() : progress.history});
  return names;
}

DISTRIB_DECL auto ReplicaViews::all_saved(Step last) const -> bool {
  if (!some_of_each([last](const ReplicaView& v) { return v.progress.has_cut_from(last); })) return false;
  for (std::uint32_t replica = 0; replica < size(); ++replica)
    if ((*this)[replica].connected && lags(replica, last)) return false;
  return true;
}

DISTRIB_DECL auto ReplicaViews::least_done() const -> Step {
  std::optional<Step> least;
  for (std::uint32_t shard = 0; shard < shards_; ++shard) {
    Step largest = 0;
    for (std::size_t replica = shard; replica < size(); replica += shards_)
      if ((*this)[replica].joined) largest = std::max(largest, (*this)[replica].progress.done);
    least = std::min(least.value_or(largest), largest);
  }
  return least.value_or(0);
}

DISTRIB_DECL auto ReplicaViews::source(std::uint32_t shard, Step t) const -> std::uint32_t {
  const auto promise = [t](const ReplicaView& v) -> Step {
    return !v.live ? 0 : v.is_beyond(t) ? 1 : 2 + std::min(v.progress.done, t);
  };
  std::uint32_t best = shard;
  for (std::uint32_t other = shard + shards_; other < size(); other += shards_)
    if (promise((*this)[other]) > promise((*this)[best])) best = other;
  return best;
}

DISTRIB_DECL auto ReplicaViews::have_one_history() const -> bool {
  std::optional<std::uint64_t> history;
  for (std::uint32_t shard = 0; shard < shards_; ++shard) {
    const bool some_live = some_of(shard, &ReplicaView::live);
    for (std::size_t replica = shard; replica < size(); replica += shards_) {
      const ReplicaView& view = (*this)[replica];
      if (some_live ? !view.live : view.progress.cuts.empty()) continue;
      if (history.value_or(view.progress.history) != view.progress.history) return false;
      history = view.progress.history;
    }
  }
  return true;
}

DISTRIB_DECL auto ReplicaViews::common_of_histories() const -> NamedCut {
  std::optional<std::vector<NamedCut>> common;
  for (const ReplicaView& view : *this) {
    if (!view.joined) continue;
    const std::vector<NamedCut> cuts = view.names();
    if (!common) common = cuts;
    std::erase_if(*common, [&cuts](const NamedCut& cut) { return std::ranges::find(cuts, cut) == cuts.end(); });
  }
  return common->back();
}

DISTRIB_DECL void ReplicaViews::learn(std::uint32_t replica, Progress heard) {
  ReplicaView& view = quiet(replica);
  const bool was_live = view.live;
  const bool has_same_cuts = heard.history == view.progress.history && heard.cuts == view.progress.cuts;
  view.learn(std::move(heard));
  if (!has_same_cuts || view.live != was_live) common_cut_.reset();
}

DISTRIB_DECL auto ReplicaViews::find_common_cut() const -> Step {
  if (!have_one_history()) return 0;
  std::optional<std::vector<Step>> common;
  for (std::uint32_t shard = 0; shard < shards_; ++shard) {
    const bool some_live = some_of(shard, &ReplicaView::live);
    bool heard = false;
    for (std::size_t replica = shard; replica < size(); replica += shards_) {
      const ReplicaView& view = (*this)[replica];
      if (some_live ? !view.live : view.progress.cuts.empty()) continue;
      heard = true;
      std::vector<Step> both;
      for (const Step cut : view.progress.cuts)
        if (!common || std::binary_search(common->begin(), common->end(), cut)) both.push_back(cut);
      common = std::move(both);
    }
    if (!heard) return 0;
  }
  return common->empty() ? 0 : common->back();
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
