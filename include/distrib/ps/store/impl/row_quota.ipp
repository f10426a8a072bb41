// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/store/row_quota.hpp>

#include <distrib/ps/rows/row_slabs.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto quota_bytes(const TableShare& share, const RowLayout& layout) -> std::uint64_t {
  const RowQuota quota = row_quota(share.info());
  const std::uint64_t new_keys = new_keys_of(share.info());
  const std::uint64_t rows = share.virtual_shards() * quota.most + new_keys;
  const std::uint64_t counted = share.info().min_count > 1 ? share.virtual_shards() * quota.most_counted : 0;
  // A segment of the index has grown by a third or a half when it was last 41/64 to 55/64 full; on the average of all
  // segments that is at most 34 bytes a key. Small segments take pieces of 32 KiB, at most one for each virtual shard.
  const std::uint64_t keys = rows + counted;
  const std::uint64_t index = 34 * keys + std::min(66 * keys, std::uint64_t{32} << 20) + (std::uint64_t{4} << 20);
  return RowSlabs::bytes_for(layout, rows) + index;
}

}  // namespace v0
}  // namespace distrib
