// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/ps/job/replies.hpp>
#include <distrib/ps/protocol/worker_action.hpp>

#include <functional>
#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {
namespace sim::detail {

/// What a worker process of a simulated cluster computes with: the same steps are asked for again after a restore.
struct Program {
  /// Which rows the contribution needs, one a shard; none of jobs without tables. Also of the step after the last.
  std::function<std::vector<WantedRows>(Step step)> prepare;
  /// The contribution, one block a shard, of values, one block a shard.
  std::function<std::vector<SharedBuffer>(Step step, std::span<const SharedBuffer> values)> contribute;
  /// The values at the end of the job: told to rank 0. May be empty.
  std::function<void(std::vector<SharedBuffer> values)> finish = {};
  /// Contribution 0, see `WorkerOptions`.
  std::vector<SharedBuffer> initial_values = {};
};

/// Called for each process of a worker that starts: what is in a Program dies with its process.
using StartProgram = std::function<Program(Rank rank)>;

}  // namespace sim::detail
}  // namespace v0
}  // namespace distrib
