// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/rank_block.hpp>
#include <distrib/ps/job/shard_layout.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/ps/protocol/detail/tree_sum.hpp>
#include <distrib/ps/store/block_pool.hpp>

#include <algorithm>
#include <cstddef>
#include <memory>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Makes the contribution of a worker that serves a block of ranks: the sum of theirs, with the bits that a shard makes of
/// single ranks. Each contribution is first rounded to the job's `WireFormat`, as if it travelled; the sum is float32.
///
/// Memory: a contribution, and at most one sum of each level. Threads: one at a time.
class BlockSum {
 public:
  /// A job without tables.
  DISTRIB_DECL explicit BlockSum(const Job& job);

  /// Returns the size of the sum for a shard, in bytes.
  [[nodiscard]] auto size_bytes(std::size_t shard) const -> std::size_t { return layouts_[shard].block_bytes(); }

  /// Calls `make(rank, blocks)` for each rank of `ranks`, in order: it writes the contribution into `blocks`, one for each
  /// shard, as it would travel. Writes the sum to `to`, blocks of `size_bytes`. Throws what `make` throws; then there is
  /// no sum.
  void operator()(RankBlock ranks, auto make, std::span<const std::shared_ptr<AlignedBuffer>> to) {
    detail::TreeSum<Blocks> tree;
    for (Rank rank = ranks.first; rank < ranks.end(ranks_); ++rank) {
      make(rank, std::span<const std::shared_ptr<AlignedBuffer>>{one_});
      tree.add(rank, ranks_, decoded(), [this](const Blocks& left, const Blocks& right) { return sum(left, right); });
    }
    for (std::size_t shard = 0; shard < to.size(); ++shard)
      std::ranges::copy(tree.total()[shard]->bytes(), to[shard]->bytes().begin());
  }

 private:
  using Blocks = std::vector<std::shared_ptr<AlignedBuffer>>;  // one for each shard

  // Returns `one_` as float32, in other blocks.
  DISTRIB_DECL auto decoded() -> Blocks;
  // Adds `right` to `left`, and returns that.
  DISTRIB_DECL auto sum(const Blocks& left, const Blocks& right) const -> Blocks;

  Rank ranks_;
  std::vector<ShardLayout> layouts_;
  Blocks one_;  // the contribution of a rank, as it would travel
  std::vector<BlockPool> pools_;  // for each shard
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/impl/block_sum.ipp>
#endif
