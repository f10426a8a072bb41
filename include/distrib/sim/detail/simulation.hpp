// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/sim/detail/shard_host.hpp>
#include <distrib/sim/options.hpp>
#include <distrib/train/training_plan.hpp>

namespace distrib {
inline namespace v0 {
namespace sim {
namespace detail {

/// Trains a plan in a simulated cluster, as `sim::run` does. `after`: the plan with which the job is started again;
/// null: it is not started again. `make_shard` makes the hosts of the shards; a test can pass another function to plant
/// a mistake.
[[nodiscard]] DISTRIB_DECL auto simulate(const TrainingPlan& plan, const TrainingPlan* after, const Options& options,
                                         MakeShard make_shard) -> Outcome;

}  // namespace detail
}  // namespace sim
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sim/detail/impl/simulation.ipp>
#endif
