// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/sim/options.hpp>
#include <distrib/train/builder.hpp>
#include <distrib/train/training_plan.hpp>

namespace distrib {
inline namespace v0 {
namespace sim {

/// As `run` of a builder, below. `plan` is what `TrainerBuilder::plan` returns.
[[nodiscard]] DISTRIB_DECL auto run(const TrainingPlan& plan, const Options& options) -> Outcome;

/// As `run` of two builders, below.
[[nodiscard]] DISTRIB_DECL auto run(const TrainingPlan& before, const TrainingPlan& after, const Options& options)
    -> Outcome;

// After a sentence of ours nothing more is reported.
inline auto run(const distrib::detail::NoTrainer&, const Options&) -> Outcome { return {}; }

/// Trains what a trainer's recipe says in a simulated cluster, with all that goes wrong there:
/// `sim::run(distrib::train(MyModel{}).with_data(...), {.seed = 7})`. All runs on the caller's thread, in no time but what
/// the model takes. Of the hooks StopAtStep and SaveCheckpoint count as settings; none is told anything.
///
/// A synchronous job ends with the parameters of local mode with as many workers, bit for bit: compare
/// `parameters_sha256` with `Trainer::result()`. Throws what model or data throw, and what `build` throws.
template <class R>
[[nodiscard]] auto run(const TrainerBuilder<R>& trainer, const Options& options) -> Outcome {
  const auto plan = trainer.plan();
  return run(plan, options);
}

/// The same, but at a moment that is drawn from the seed all processes end, and the job is started again as `after` says:
/// with another learning rate, say. What must not change at a restart is the same in both.
///
/// A synchronous job ends with the parameters of local mode that goes on as `after` from `Outcome::changed_after`.
template <class R, class S>
[[nodiscard]] auto run(const TrainerBuilder<R>& before, const TrainerBuilder<S>& after, const Options& options)
    -> Outcome {
  const auto first = before.plan();
  const auto second = after.plan();
  return run(first, second, options);
}

}  // namespace sim
}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/sim/impl/run.ipp>
#endif
