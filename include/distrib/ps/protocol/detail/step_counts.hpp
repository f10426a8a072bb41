// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/step.hpp>

#include <cstddef>
#include <iterator>
#include <map>

namespace distrib {
inline namespace v0 {
namespace detail {

/// How many ranks or shards are at which step. So the least step of all is known without a look at each of them: a
/// change costs the logarithm of how many different steps there are. A value.
class StepCounts {
 public:
  StepCounts() = default;
  /// `number` ranks or shards at step 0.
  explicit StepCounts(std::size_t number) {
    if (number != 0) counts_[0] = number;
  }

  void add(Step step) { ++counts_[step]; }
  /// One of those at `from` is at `to` now.
  void move(Step from, Step to) {
    if (from == to) return;
    remove(from);
    add(to);
  }
  /// One of those at `step` is not counted any more.
  void remove(Step step) {
    const auto at = counts_.find(step);
    if (--at->second == 0) counts_.erase(at);
  }
  [[nodiscard]] auto empty() const noexcept -> bool { return counts_.empty(); }
  void clear() { counts_.clear(); }

  /// Returns the least step. There must be at least one rank or shard.
  [[nodiscard]] auto least() const -> Step { return counts_.begin()->first; }
  /// Returns the least step of all but one that is at `step`; if there is no other, `step`.
  [[nodiscard]] auto least_beside(Step step) const -> Step {
    const auto first = counts_.begin();
    if (first->first != step || first->second > 1) return first->first;
    const auto next = std::next(first);
    return next == counts_.end() ? step : next->first;
  }
  /// Returns the least step beside one of those at the least step: so it is the least one again if there are two.
  [[nodiscard]] auto second() const -> Step { return least_beside(least()); }

 private:
  std::map<Step, std::size_t> counts_;
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib
