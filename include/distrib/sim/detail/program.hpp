// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/worker_action.hpp>

#include <functional>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace sim::detail {

/// What a worker process of a simulated cluster computes. After a restore the same steps are asked for again.
struct Program {
  /// Returns the rows that the contribution needs, one request per shard; an empty list in jobs without tables. Also
  /// called for the step after the last one.
  std::function<std::vector<WantedRows>(Step step)> prepare;
  /// Returns the contribution, one block per shard, computed from the values, one block per shard.
  std::function<std::vector<SharedBuffer>(const Compute& work)> contribute;
  /// Receives the values at the end of the job; called for rank 0 only. May be empty.
  std::function<void(std::vector<SharedBuffer> values)> finish = {};
  /// Contribution 0, see `WorkerOptions`.
  std::vector<SharedBuffer> initial_values = {};
};

/// Makes the Program of a worker process. Called for each process that starts: the state of a Program dies with its
/// process.
using StartProgram = std::function<Program(Rank rank)>;

}  // namespace sim::detail
}  // namespace v0
}  // namespace distrib
