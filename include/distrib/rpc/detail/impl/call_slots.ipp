// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/rpc/detail/call_slots.hpp>

#include <algorithm>

namespace distrib {
inline namespace v0 {
namespace detail {

DISTRIB_DECL void CallSlots::limit(std::uint32_t most) {
  most_ = std::min(most_, most);
  std::erase_if(free_, [this](std::uint32_t slot) {
    if (slot >= most_) spare_.push_back(slot);
    return slot >= most_;
  });
}

DISTRIB_DECL auto CallSlots::take() -> std::uint64_t {
  ++used_;
  std::uint32_t slot = 0;
  std::vector<std::uint32_t>& from = free_.empty() ? spare_ : free_;
  if (from.empty()) {
    slot = static_cast<std::uint32_t>(slots_.size());
    slots_.push_back({});
  } else {
    slot = from.back();
    from.pop_back();
  }
  CallSlot& call = slots_[slot];
  if (++call.generation == 0) call.generation = 1;
  call.active = true;
  call.in_chunks = false;
  call.credit = {};
  return id_of(slot);
}

DISTRIB_DECL void CallSlots::give_back(std::uint64_t id) {
  const auto slot = static_cast<std::uint32_t>(id);
  slots_[slot].active = false;
  (slot < most_ ? free_ : spare_).push_back(slot);
  --used_;
}

}  // namespace detail
}  // namespace v0
}  // namespace distrib
