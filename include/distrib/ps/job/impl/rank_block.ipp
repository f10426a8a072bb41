// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/rank_block.hpp>

#include <cstddef>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL auto rank_blocks(std::span<const Rank> served, Rank ranks) -> std::vector<RankBlock> {
  std::vector<RankBlock> blocks;
  for (std::size_t at = 0; at < served.size(); at += blocks.back().end(ranks) - blocks.back().first) {
    RankBlock block = served[at];
    for (RankBlock twice{block.first, 1}; is_block(twice, ranks); ++twice.level) {
      const std::size_t last = at + (twice.end(ranks) - twice.first) - 1;
      if (last >= served.size() || served[last] != twice.end(ranks) - 1) break;  // ranks ascend: then none is missing
      block = twice;
    }
    blocks.push_back(block);
  }
  return blocks;
}

}  // namespace v0
}  // namespace distrib
