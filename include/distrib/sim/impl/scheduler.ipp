// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sim/scheduler.hpp>

namespace distrib {
inline namespace v0 {
namespace sim {

DISTRIB_DECL auto Scheduler::step() -> bool {
  if (scheduled_.empty()) return false;
  std::pop_heap(scheduled_.begin(), scheduled_.end(), later);
  const Scheduled event = std::move(scheduled_.back());
  scheduled_.pop_back();
  now_ = event.when;
  event.happens();
  return true;
}

}  // namespace sim
}  // namespace v0
}  // namespace distrib
