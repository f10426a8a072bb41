// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/event.hpp>
#include <distrib/ps/job/phase.hpp>
#include <distrib/ps/job/step.hpp>

#include <array>
#include <chrono>
#include <cstdint>
#include <mutex>
#include <string>

namespace distrib {
inline namespace v0 {

/// Counts what one worker does, and shows it to Prometheus. All counters begin at 0 with the process.
///
/// Threads: any.
class WorkerMeter {
 public:
  /// `examples`: in one contribution. `total_steps`: of the job, or `open_end`.
  WorkerMeter(Rank rank, std::uint64_t examples, Step total_steps)
      : rank_{rank}, examples_{examples}, total_steps_{total_steps} {}

  /// What the rank has done for some time. Phases of shards are ignored.
  DISTRIB_DECL void spent(const Phase& phase);
  /// A contribution was made.
  DISTRIB_DECL void contributed(float loss);
  /// The job has done this many steps.
  DISTRIB_DECL void reached(Step step);
  /// Counts lost connections; other events are ignored.
  DISTRIB_DECL void told(const Event& event);

  /// Returns the metrics `distrib_worker_...` with the label `rank`, in Prometheus' text exposition format 0.0.4. A loss
  /// is shown once there is one.
  [[nodiscard]] DISTRIB_DECL auto text() const -> std::string;

 private:
  static constexpr std::array timed{Phase::Kind::compute, Phase::Kind::push, Phase::Kind::wait, Phase::Kind::pull};

  const Rank rank_;
  const std::uint64_t examples_;
  const Step total_steps_;
  mutable std::mutex mutex_;  // protects what follows
  std::array<std::chrono::nanoseconds, timed.size()> times_{};
  Step step_ = 0;
  std::uint64_t contributions_ = 0;
  std::uint64_t lost_ = 0;
  float loss_ = 0;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/worker/impl/worker_meter.ipp>
#endif
