// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/cluster/cluster_flags.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/net/io_pool.hpp>
#include <distrib/train/events.hpp>
#include <distrib/train/job/training_run.hpp>
#include <distrib/train/training_plan.hpp>
#include <distrib/train/training_report.hpp>

#include <chrono>
#include <exception>
#include <memory>
#include <string>

namespace distrib {
inline namespace v0 {

class ClusterTrainer;

/// A session without the types of its model: `TrainingSession` describes the members. Drives the same `TrainingRun` as
/// a trainer, but returns to its caller whenever a contribution is to be computed.
///
/// Threads: one at a time.
class SessionLoop {
 public:
  /// Begins a session of the whole job in this process. `pool` may be null.
  DISTRIB_DECL SessionLoop(TrainingPlan plan, IoPool* pool);
  /// Begins a session in the role that the flags give. `max_wait`: see `SessionOptions`.
  DISTRIB_DECL SessionLoop(const TrainingPlan& plan, IoPool& pool, ClusterFlags flags, std::chrono::milliseconds max_wait);
  SessionLoop(const SessionLoop&) = delete;
  auto operator=(const SessionLoop&) -> SessionLoop& = delete;
  DISTRIB_DECL ~SessionLoop();

  [[nodiscard]] DISTRIB_DECL auto should_stop() -> bool;
  /// Makes the contribution that is wanted.
  DISTRIB_DECL auto run() -> float;
  DISTRIB_DECL void request_stop(const std::string& reason);
  DISTRIB_DECL auto close() -> int;
  [[nodiscard]] auto is_chief() const noexcept -> bool { return is_chief_; }
  [[nodiscard]] DISTRIB_DECL auto result() const noexcept -> const TrainingResult&;

 private:
  DISTRIB_DECL auto look() -> bool;

  const TrainingPlan plan_;
  const ClusterFlags flags_;
  const bool is_chief_;
  TrainingReport report_;
  std::unique_ptr<ClusterTrainer> other_role_;  // of a process that computes nothing, such as a parameter server
  std::unique_ptr<TrainingRun> run_;  // null: the session is over, or the process has another role
  bool is_wanted_ = false;  // a contribution, as `should_stop` has said
  bool is_over_ = false;
  int code_;
  std::exception_ptr failure_;  // what ended the session outside of `run`
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/impl/session_loop.ipp>
#endif
