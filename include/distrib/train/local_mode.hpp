// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// Local mode: one process, no sockets.
struct LocalMode {
  /// In-process workers; the ranks of the job. In a cluster: its workers, whatever stands here.
  std::uint32_t workers = 1;
  /// Shards the variables are spread over. In a cluster: those of each parameter server.
  std::uint32_t shards = 1;
};

}  // namespace v0
}  // namespace distrib
