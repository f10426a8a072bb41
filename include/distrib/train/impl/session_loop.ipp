// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/train/session_loop.hpp>

#include <distrib/cluster/roles.hpp>
#include <distrib/core/error.hpp>
#include <distrib/ps/job/exit_code.hpp>
#include <distrib/train/cluster_trainer.hpp>
#include <distrib/train/error.hpp>
#include <distrib/train/job/local_job.hpp>
#include <distrib/train/make_local_run.hpp>
#include <distrib/train/make_worker_run.hpp>

#include <utility>

namespace distrib {
inline namespace v0 {

DISTRIB_DECL SessionLoop::SessionLoop(TrainingPlan plan, IoPool* pool)
    : plan_{std::move(plan)}, is_chief_{true}, report_{plan_.hooks()}, code_{exit_code::again} {
  run_ = make_local_run(plan_, pool, report_, ComputeOn::caller);
  static_cast<void>(look());
}

DISTRIB_DECL SessionLoop::SessionLoop(const TrainingPlan& plan, IoPool& pool, ClusterFlags flags,
                                      std::chrono::milliseconds max_wait)
    : plan_{plan.with_flags(flags)},
      flags_{std::move(flags)},
      is_chief_{flags_.local() || (flags_.job_name != "onlooker" && v0::is_chief(flags_.cluster(), flags_.task()))},
      report_{plan_.hooks()},
      code_{exit_code::again} {
  if (flags_.local()) {
    run_ = make_local_run(plan_, &pool, report_, ComputeOn::caller);
  } else if (flags_.job_name == "ps" || flags_.job_name == "evaluator" || flags_.job_name == "onlooker") {
    other_role_ = std::make_unique<ClusterTrainer>(plan_, pool, flags_);
    return;
  } else {
    run_ = make_worker_run(plan_, pool, flags_, report_, max_wait);
  }
  static_cast<void>(look());
}

DISTRIB_DECL SessionLoop::~SessionLoop() = default;

DISTRIB_DECL auto SessionLoop::result() const noexcept -> const TrainingResult& {
  return other_role_ != nullptr ? other_role_->result() : report_.result();
}

// Returns true if a contribution is wanted. Ends the run when it is over. If it was asked to end, nothing is begun any
// more.
DISTRIB_DECL auto SessionLoop::look() -> bool {
  is_wanted_ = false;
  while (run_->next()) {
    if (!run_->stopping()) return is_wanted_ = true;
    run_->abandon();
  }
  code_ = run_->end();
  is_over_ = true;
  run_.reset();
  return false;
}

DISTRIB_DECL auto SessionLoop::should_stop() -> bool {
  if (is_over_) return true;
  try {
    if (other_role_ == nullptr) return !look();
    code_ = other_role_->run();
  } catch (...) {
    failure_ = std::current_exception();
    run_.reset();
  }
  return is_over_ = true;
}

DISTRIB_DECL auto SessionLoop::run() -> float {
  if (!is_wanted_ && should_stop()) {
    if (failure_) std::rethrow_exception(failure_);
    throw_error(train_errc::session_over, "run");
  }
  is_wanted_ = false;
  try {
    return run_->make();
  } catch (...) {
    is_over_ = true;
    run_.reset();
    throw;
  }
}

DISTRIB_DECL void SessionLoop::request_stop(const std::string& reason) {
  if (run_ != nullptr && !run_->stopping()) run_->stop(reason);
}

DISTRIB_DECL auto SessionLoop::close() -> int {
  request_stop("the session was closed");
  while (!should_stop()) {
  }
  if (failure_) std::rethrow_exception(failure_);
  return code_;
}

}  // namespace v0
}  // namespace distrib
