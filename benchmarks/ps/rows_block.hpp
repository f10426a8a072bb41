// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/store/table_gradients.hpp>

#include <algorithm>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <utility>
#include <vector>

/// Returns the body of a worker's push for the keys of the only table of the shard, with 1e-3 for every element of the
/// gradient. A key may occur more than once in `keys`; the push has it once.
inline auto rows_block(const distrib::ShardLayout& layout, std::vector<std::uint64_t> keys) -> distrib::SharedBuffer {
  std::ranges::sort(keys);
  keys.erase(std::ranges::unique(keys).begin(), keys.end());
  const std::size_t floats = keys.size() * layout.tables()[0].info().dim;
  const distrib::ContributionLayout places{layout, {std::move(keys)}};
  auto block = std::make_shared<distrib::AlignedBuffer>(places.size_bytes());
  places.write_keys(block->bytes());
  std::fill_n(reinterpret_cast<float*>(block->data() + places.rows_at(0)), floats, 1e-3F);
  return block;
}
