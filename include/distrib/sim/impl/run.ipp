// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sim/run.hpp>

#include <distrib/sim/detail/hosted_shard.hpp>
#include <distrib/sim/detail/simulation.hpp>

namespace distrib {
inline namespace v0 {
namespace sim {

DISTRIB_DECL auto run(const TrainingPlan& plan, const Options& options) -> Outcome {
  return detail::simulate(plan, nullptr, options, detail::make_shard<detail::ShardCores>);
}

DISTRIB_DECL auto run(const TrainingPlan& before, const TrainingPlan& after, const Options& options) -> Outcome {
  return detail::simulate(before, &after, options, detail::make_shard<detail::ShardCores>);
}

}  // namespace sim
}  // namespace v0
}  // namespace distrib
