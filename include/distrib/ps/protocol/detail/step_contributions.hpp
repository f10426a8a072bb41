// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/store/pull_rows.hpp>
#include <distrib/ps/store/shard_store.hpp>

#include <map>
#include <optional>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace detail {

/// The contributions of one step to a shard, in rank order. A value.
struct StepContributions {
  std::vector<Rank> ranks;  ///< Ascending.
  std::vector<ReadContribution> read;  ///< For each of `ranks` its contribution.

  /// Stores the contribution of `rank`. Returns false, and drops it, if this rank has one already or there are `most`
  /// contributions already.
  DISTRIB_DECL auto store(Rank rank, ReadContribution given, Rank most) -> bool;
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
  [[nodiscard]] auto is_from_another(Peer peer, const std::map<Peer, Rank>& here) const -> bool {
    return giver && *giver != peer && here.contains(*giver);
  }
};

}  // namespace detail
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/protocol/detail/impl/step_contributions.ipp>
#endif
