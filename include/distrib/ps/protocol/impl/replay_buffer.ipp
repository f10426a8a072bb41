// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/replay_buffer.hpp>

#include <iterator>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL void ReplayBuffer::keep(Step step, std::vector<SharedBuffer> blocks) {
  if (budget_bytes_ == 0) clear();
  last_bytes_ = size_bytes(blocks);
  std::vector<SharedBuffer>& kept = entry(step);
  bytes_ += last_bytes_ - size_bytes(kept);  // a step made again replaces the first
  kept.assign(std::move_iterator{blocks.begin()}, std::move_iterator{blocks.end()});
}

DISTRIB_DECL auto ReplayBuffer::entry(Step step) -> std::vector<SharedBuffer>& {
  if (idle_.empty() || steps_.contains(step)) return steps_[step];
  Steps::node_type idle = std::move(idle_.back());
  idle_.pop_back();
  idle.key() = step;
  return steps_.insert(steps_.end(), std::move(idle))->second;
}

}  // namespace v0
}  // namespace distrib
