// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/summary/detail/run_collector.hpp>

#include <algorithm>
#include <compare>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void RunCollector::add(ParsedEvent& event) {
  if (event.session == SessionStatus::start && !keep_) {
    if (started_ || event.step > 0)
      for (auto& [tag, points] : points_) supersede(tag, points, event.step);
    started_ = true;
  }
  for (ParsedEvent::OtherValue& other : event.others) ++others_[{std::move(other.tag), std::move(other.what)}];
  for (ScalarEvent& scalar : event.scalars) {
    if (!keep_) {
      Points& points = points_[scalar.tag];
      supersede(scalar.tag, points, scalar.step);
      points.push_back(scalars_.size());
    }
    counts_.push_back(true);
    scalars_.push_back(std::move(scalar));
  }
}

DISTRIB_DECL void RunCollector::supersede(const std::string& tag, Points& points, std::int64_t step) {
  for (; !points.empty() && scalars_[points.back()].step >= step; points.pop_back()) {
    counts_[points.back()] = false;
    ++superseded_[tag];
  }
}

DISTRIB_DECL auto RunCollector::finish() -> RunEvents {
  RunEvents run;
  run.superseded = std::move(superseded_);
  for (auto& [name, values] : others_) run.others.push_back({name.first, name.second, values});
  Points order;
  for (std::size_t i = 0; i < scalars_.size(); ++i)
    if (counts_[i]) order.push_back(i);
  std::sort(order.begin(), order.end(), [this](std::size_t a, std::size_t b) {
    const auto times = std::strong_order(scalars_[a].wall_time, scalars_[b].wall_time);  // orders NaN, too
    return times < 0 || (times == 0 && a < b);
  });
  run.scalars.reserve(order.size());
  for (const std::size_t at : order) run.scalars.push_back(std::move(scalars_[at]));
  return run;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
