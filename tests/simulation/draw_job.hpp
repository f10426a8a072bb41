// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/optimizer/momentum.hpp>
#include <distrib/ps/job/consistency.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/sim/dice.hpp>

#include <cstdint>

namespace simulation {

/// Draws a job of 3 ranks and 2 parameter servers with 1 or 2 shards each, for runs of a simulated cluster: two
/// variables in three parts, `least` to `most` steps, and how often there are cuts.
inline auto draw_job(distrib::sim::Dice& dice, distrib::Step least, distrib::Step most,
                     const distrib::Momentum& updater, distrib::Consistency consistency) -> distrib::Job {
  using namespace distrib;
  Job job;
  job.seed = dice.next();
  job.tasks = 2;
  job.shards_per_task = static_cast<std::uint32_t>(dice.between(1, 2));
  job.ranks = 3;
  job.total_steps = dice.between(least, most);
  job.cut_interval = dice.between(1, 6);
  job.updater = "momentum " + updater.describe();
  job.consistency = consistency;
  job.variables = {{"a", DType::float32, {5, 3}, UniformInitializer{}},
                   {"b", DType::float32, {7}, UniformInitializer{}}};
  const auto shard = [&] { return static_cast<std::uint32_t>(dice.below(job.shards())); };
  job.parts = {{0, Slice::along({5, 3}, 0, 0, 2), shard()},
               {0, Slice::along({5, 3}, 0, 2, 3), shard()},
               {1, Slice::whole({7}), shard()}};
  return job;
}

}  // namespace simulation
