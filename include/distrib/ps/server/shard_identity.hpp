// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// Which shard of which cluster a service is: what a job must agree with.
struct ShardIdentity {
  std::uint32_t task = 0;    ///< Which ps task,
  std::uint32_t shard = 0;   ///< and which of its services, see `Job::service_of`.
  std::uint32_t tasks = 1;   ///< ps tasks of the cluster.
  std::uint32_t ranks = 1;   ///< Workers of the cluster, the chief included.
  bool finished = false;  ///< The checkpoint it starts with holds a job's last step: when nobody comes, it is done.
};

}  // namespace v0
}  // namespace distrib
