// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/train/job/training_run.hpp>
#include <distrib/train/training_plan.hpp>
#include <distrib/train/training_report.hpp>

#include <chrono>
#include <memory>
#include <optional>

namespace distrib {
inline namespace v0 {

/// Begins a run of the worker that the flags name: takes the locks if it is the chief, and waits as `GlobalStepWaiter`
/// says. The first `next()` connects it. The arguments must outlive the run. Handles SIGINT and SIGTERM until `end()`.
///
/// `ready_within`: of a session. If it is set, a worker that is not the chief first waits until the chief has joined or
/// the job has done a step, and then for the first values; for either not longer than this.
///
/// Errors: throws as `ClusterTrainer::run`; this function and `next()` also throw `train_errc::not_ready` if such a
/// wait is too long.
[[nodiscard]] DISTRIB_DECL auto make_worker_run(const TrainingPlan& plan, IoPool& pool, const ClusterFlags& flags,
                                                TrainingReport& report,
                                                std::optional<std::chrono::milliseconds> ready_within = {})
    -> std::unique_ptr<TrainingRun>;

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/make_worker_run.ipp>
#endif
