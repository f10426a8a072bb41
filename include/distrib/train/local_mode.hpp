// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/ps/job/erased_keys.hpp>
#include <distrib/ps/job/rank_log.hpp>

#include <cstdint>
#include <vector>

namespace distrib {
inline namespace v0 {

/// Local mode: one process, no sockets.
struct LocalMode {
  /// Workers in the process, which are the ranks of the job. Not used in a cluster, which has its own number of
  /// workers.
  std::uint32_t workers = 1;
  /// Shards among which the variables are divided. In a cluster: shards of each parameter server.
  std::uint32_t shards = 1;
  /// With `TrainerBuilder::with_most_ranks`: how the ranks change, as `distrib scale` has printed it for a job in a
  /// cluster (`parse_rank_entries`). The result has the bits of that job. Not used in a cluster.
  std::vector<RankEntry> changes = {};
  /// With `TrainerBuilder::with_erasable_keys`: which keys go after which steps, as `erase_keys` has said for a job in a
  /// cluster. The result has the bits of that job. Not used in a cluster.
  std::vector<ErasedKeys> erased = {};
};

}  // namespace v0
}  // namespace distrib
