// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/step.hpp>

#include <algorithm>
#include <compare>
#include <cstdint>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// An aligned block of ranks: of the 2^level ranks from `first` on those that the job has; `first` is a multiple of
/// 2^level. A node of the tree in which contributions are added (`ReductionOrder::tree`), so the sum of its ranks has one
/// value. Two blocks of a job are equal, one inside the other, or apart. A rank is a block of one.
///
/// Of two blocks with the same ranks of a job (0 to 7 and 0 to 3, if the job has four) the lower one is the name of the
/// sum, see `is_block`.
struct RankBlock {
  Rank first = 0;
  std::uint32_t level = 0;

  constexpr RankBlock() = default;
  /// Implicit: a rank is a block.
  constexpr RankBlock(Rank rank, std::uint32_t its_level = 0) : first{rank}, level{its_level} {}

  /// Returns the rank after the last one.
  [[nodiscard]] constexpr auto end(Rank ranks) const noexcept -> Rank {
    return std::min(ranks, first + (Rank{1} << level));
  }
  /// True if all ranks of `other` are in it.
  [[nodiscard]] constexpr auto covers(RankBlock other) const noexcept -> bool {
    return level >= other.level && first >> level == other.first >> level;
  }
  /// True if some rank is in both.
  [[nodiscard]] constexpr auto meets(RankBlock other) const noexcept -> bool {
    return covers(other) || other.covers(*this);
  }

  [[nodiscard]] auto operator<=>(const RankBlock&) const = default;
};

/// The highest level of a block, see `max_job_ranks`.
inline constexpr std::uint32_t max_block_level = 20;

/// True if it is a block of a job with so many ranks, by its only name: aligned, with a rank of the job in its right half.
/// For what an unknown client says.
[[nodiscard]] constexpr auto is_block(RankBlock block, Rank ranks) noexcept -> bool {
  if (block.level == 0) return block.first < ranks;
  if (block.level > max_block_level || block.first % (Rank{1} << block.level) != 0) return false;
  const Rank half = Rank{1} << (block.level - 1);
  return block.first < ranks && ranks - block.first > half;
}

/// Returns the fewest blocks that have these ranks, in their order. `served`: ascending, below `ranks`.
[[nodiscard]] DISTRIB_DECL auto rank_blocks(std::span<const Rank> served, Rank ranks) -> std::vector<RankBlock>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/job/impl/rank_block.ipp>
#endif
