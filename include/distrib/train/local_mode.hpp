// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// Local mode: one process, no sockets.
struct LocalMode {
  /// Workers in the process, which are the ranks of the job. Not used in a cluster, which has its own number of
  /// workers.
  std::uint32_t workers = 1;
  /// Shards among which the variables are divided. In a cluster: shards of each parameter server.
  std::uint32_t shards = 1;
};

}  // namespace v0
}  // namespace distrib
