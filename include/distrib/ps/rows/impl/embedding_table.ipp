// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/rows/embedding_table.hpp>

#include <distrib/ps/rows/detail/least_used.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto EmbeddingTable::evict_least_used(std::size_t count) -> std::size_t {
  if (count == 0 || rows_.size() == 0) return 0;
  const detail::EvictionOrder last = detail::nth_least_used(index_, std::min(count, rows_.size()));
  return evict_if([last](const KeySlot& slot) { return slot.has_row() && detail::eviction_order(slot) <= last; });
}

}  // namespace v0
}  // namespace distrib
