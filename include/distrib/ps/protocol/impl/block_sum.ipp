// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/protocol/block_sum.hpp>

#include <distrib/ps/store/gradient_block.hpp>
#include <distrib/ps/store/sum_blocks.hpp>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL BlockSum::BlockSum(const Job& job) : ranks_{job.ranks}, layouts_{shard_layouts(job)} {
  for (const ShardLayout& layout : layouts_) {
    one_.push_back(std::make_shared<AlignedBuffer>(layout.gradient_block_bytes()));
    pools_.emplace_back(layout.block_bytes());
  }
}

DISTRIB_DECL auto BlockSum::decoded() -> Blocks {
  Blocks blocks;
  for (std::size_t shard = 0; shard < layouts_.size(); ++shard) {
    blocks.push_back(pools_[shard].take());
    decode_gradients(layouts_[shard], one_[shard]->bytes(), blocks.back()->bytes());
  }
  return blocks;
}

DISTRIB_DECL auto BlockSum::sum(const Blocks& left, const Blocks& right) const -> Blocks {
  for (std::size_t shard = 0; shard < layouts_.size(); ++shard)
    sum_blocks(layouts_[shard], left[shard]->bytes(), right[shard]->bytes(), left[shard]->bytes());
  return left;
}

}  // namespace v0
}  // namespace distrib
