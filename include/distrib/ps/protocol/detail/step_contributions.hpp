// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/rank_block.hpp>
#include <distrib/ps/job/rank_log.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/detail/tree_sum.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/shard_store.hpp>

#include <cstddef>
#include <cstdint>
#include <map>
#include <optional>
#include <span>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The contributions of one step to a shard. They are kept as they arrive, and put into rank order once, when they are
/// complete; or they are added in a tree as they arrive (`ReductionOrder::tree`). A value.
class StepContributions {
 public:
  /// Stores the contribution of `rank`. Returns false, and drops it, if this rank has one already or there are `most`
  /// contributions already.
  DISTRIB_DECL auto store(Rank rank, ReadContribution given, Rank most) -> bool;

  /// Adds the contribution of a rank, or the sum of a block, to the sums of a tree of `ranks` ranks. Returns false, and
  /// drops it, if its ranks have been added already. `sum(left, right)`: returns the sum of two contributions.
  auto add(RankBlock block, ReadContribution given, Rank ranks, auto sum) -> bool {
    bytes_of_sum_ = given.block->size();
    return sums_.add(block, ranks, std::move(given), sum);
  }

  /// A contribution says that these ranks make the step. Returns false if one before it has said something else.
  auto state(const SharedRankEntry& entry) -> bool {
    if (entry_ == nullptr) entry_ = entry;
    return entry_ == entry || *entry_ == *entry;
  }
  /// Returns the ranks that contributions have stated; null: none has.
  [[nodiscard]] auto entry() const noexcept -> const SharedRankEntry& { return entry_; }

  /// Returns the bytes of the blocks that wait: contributions that were stored, or sums.
  [[nodiscard]] auto waiting_bytes() const noexcept -> std::uint64_t {
    return stored_bytes_ + sums_.waiting() * bytes_of_sum_;
  }
  /// Returns how many ranks have a contribution that was stored.
  [[nodiscard]] auto size() const noexcept -> std::size_t { return places_.size(); }
  /// True if every rank has been added with `add`.
  [[nodiscard]] auto is_summed() const noexcept -> bool { return sums_.complete(); }
  /// Returns the sum of all contributions. Only if `is_summed`.
  [[nodiscard]] auto total() const -> const ReadContribution& { return sums_.total(); }

  /// Returns the contributions in rank order. They must be complete: `store` must not be called after it.
  [[nodiscard]] DISTRIB_DECL auto in_rank_order() -> std::span<const ReadContribution>;

 private:
  /// A rank, and where its contribution is in `read_`.
  struct Place {
    Rank rank = 0;
    std::uint32_t at = 0;
  };

  SharedRankEntry entry_;
  std::vector<Place> places_;  // ranks ascending
  TreeSum<ReadContribution> sums_;
  std::vector<ReadContribution> read_;
  std::uint64_t stored_bytes_ = 0;  // of the blocks in `read_`
  std::uint64_t bytes_of_sum_ = 0;  // all sums of a shard have the same size
};

/// A pull that a shard answers later: it has not reached the step, or waits for its values.
struct ParkedPull {
  Peer peer = 0;
  Step step = 0;
  PullRows rows;
};

/// The newest contribution of one rank that a shard has received.
struct NewestContribution {
  Step step = 0;
  std::optional<Peer> giver = {};  ///< The peer that sent it. Empty: not known, because the shard read it from a cut.

  /// True if a peer other than `peer` sent it and is still connected (in `here`).
  [[nodiscard]] auto is_from_another(Peer peer, const std::map<Peer, RankBlock>& here) const -> bool {
    return giver && *giver != peer && here.contains(*giver);
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/detail/impl/step_contributions.ipp>
#endif
