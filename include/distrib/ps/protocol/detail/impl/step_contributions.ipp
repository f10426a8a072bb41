// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/detail/step_contributions.hpp>

#include <algorithm>
#include <utility>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL auto StepContributions::store(Rank rank, ReadContribution given, Rank most) -> bool {
  const auto at = std::ranges::lower_bound(places_, rank, {}, &Place::rank);
  if (places_.size() == most || (at != places_.end() && at->rank == rank)) return false;
  places_.insert(at, {rank, static_cast<std::uint32_t>(read_.size())});
  stored_bytes_ += given.block->size();
  read_.push_back(std::move(given));
  return true;
}

DISTRIB_DECL auto StepContributions::in_rank_order() -> std::span<const ReadContribution> {
  const auto is_in_place = [this](const Place& place) { return &place == &places_[place.at]; };
  if (std::ranges::all_of(places_, is_in_place)) return read_;
  std::vector<ReadContribution> ordered;
  ordered.reserve(read_.size());
  for (Place& place : places_) {
    ordered.push_back(std::move(read_[place.at]));
    place.at = static_cast<std::uint32_t>(ordered.size() - 1);
  }
  read_ = std::move(ordered);
  return read_;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
