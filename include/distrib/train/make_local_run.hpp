// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/train/job/local_job.hpp>
#include <distrib/train/job/training_run.hpp>
#include <distrib/train/training_plan.hpp>
#include <distrib/train/training_report.hpp>

#include <memory>

namespace distrib {
inline namespace v0 {

/// Begins a run of the whole job in this process: takes the locks, restores, tells the hooks that it starts. `pool` may
/// be null, see `make_local_job`. The arguments must outlive the run. Handles SIGINT and SIGTERM until `end()`.
///
/// Errors: throws as `Trainer::run`.
[[nodiscard]] DISTRIB_DECL auto make_local_run(const TrainingPlan& plan, IoPool* pool, TrainingReport& report,
                                               ComputeOn compute_on) -> std::unique_ptr<TrainingRun>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/make_local_run.ipp>
#endif
