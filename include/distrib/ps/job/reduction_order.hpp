// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <string_view>

namespace distrib {
inline namespace v0 {

/// In which order the contributions of a step are added. Float sums depend on it, so it is part of the job.
enum class ReductionOrder : std::uint8_t {
  /// In the order of the ranks, when all have arrived: ((0 + 1) + 2) + 3.
  rank_order,
  /// In a binary tree over the ranks: (0 + 1) + (2 + 3). Each sum is computed as soon as both halves have arrived, in
  /// whatever order, so a shard keeps fewer contributions, and little is left to do after the last arrival. Only for
  /// synchronous jobs without tables in which every rank counts. Up to two ranks the bits are those of `rank_order`.
  tree,
};

/// Returns the word for it in a job's description.
[[nodiscard]] constexpr auto to_text(ReductionOrder reduction) noexcept -> std::string_view {
  return reduction == ReductionOrder::tree ? "tree" : "rank_order";
}

/// Up to so many ranks a job adds in rank order unless it is told otherwise: there a tree would save little.
inline constexpr std::uint32_t most_ranks_in_order = 8;

}  // namespace v0
}  // namespace distrib
