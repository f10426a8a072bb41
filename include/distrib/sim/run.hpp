// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/sim/options.hpp>
#include <distrib/train/builder.hpp>
#include <distrib/train/training_plan.hpp>

namespace distrib {
inline namespace v0 {
namespace sim {

/// Trains `plan`, which `TrainerBuilder::plan` has returned, as `run(trainer, options)` trains a builder.
[[nodiscard]] DISTRIB_DECL auto run(const TrainingPlan& plan, const Options& options) -> Outcome;

/// Trains the plan `before` and starts the job again as the plan `after`, as `run(before, after, options)` does with
/// two builders.
[[nodiscard]] DISTRIB_DECL auto run(const TrainingPlan& before, const TrainingPlan& after, const Options& options)
    -> Outcome;

// For a trainer that a static_assert of this library has refused: the compiler reports nothing else.
inline auto run(const distrib::detail::NoTrainer&, const Options&) -> Outcome { return {}; }

/// Trains what a trainer's recipe describes in a simulated cluster, with everything that goes wrong there:
/// `sim::run(distrib::train(MyModel{}).with_data(...), {.seed = 7})`. Everything runs on the caller's thread. It waits
/// for nothing, so a run takes about the time that the model needs. Of the hooks only StopAtStep and SaveCheckpoint
/// count, as settings; no hook receives an event. Cuts and checkpoints are on the simulated disk, not in
/// `SaveCheckpoint::directory`.
///
/// A synchronous job in which every rank counts ends with the parameters of local mode with the same number of workers,
/// bit for bit: compare `parameters_sha256` with `Trainer::result()`.
///
/// Errors: throws what the model or the data throw, what `build` throws, `train_errc` if the job cannot be made, and
/// `std::system_error` if the directory of the simulated disk cannot be created. What goes wrong in the cluster is in
/// `Outcome::wrong`.
template <class R>
[[nodiscard]] auto run(const TrainerBuilder<R>& trainer, const Options& options) -> Outcome {
  const auto plan = trainer.plan();
  return run(plan, options);
}

/// Trains as `run(trainer, options)` does, but at a moment that is drawn from the seed all processes end, and the job
/// is started again as `after` says: for example with another learning rate. Both must have the same seed, the same
/// variables and tables with the same initializers, and the same initial checkpoint: if a shard has saved a cut before
/// that moment, a difference in these is reported in `Outcome::wrong`, with the text of `ps_errc::job_mismatch`. The
/// numbers of shards and of workers must be the same too (programmer error otherwise, which is not checked).
///
/// A synchronous job ends with the parameters of local mode that is continued as `after` from step
/// `Outcome::changed_after`; if that is empty and nothing is wrong, with the parameters of `before` alone.
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
