// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/decl.hpp>
#include <distrib/core/event.hpp>
#include <distrib/ps/job/phase.hpp>
#include <distrib/ps/job/step.hpp>

#include <array>
#include <chrono>
#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <string>

namespace distrib {
inline namespace v0 {

/// Counts what one process of workers does, and shows it to Prometheus. All counters begin at 0 with the process.
///
/// Threads: any.
class WorkerMeter {
 public:
  /// `worker`: the index of the process among the workers of the cluster. `is_rank`: it is the rank of this number; false
  /// with dealt ranks, which come and go. `examples`: in one contribution. `total_steps`: of the job, or `open_end`.
  WorkerMeter(std::uint32_t worker, bool is_rank, std::uint64_t examples, Step total_steps)
      : worker_{worker}, is_rank_{is_rank}, examples_{examples}, total_steps_{total_steps}, ranks_{is_rank ? 1U : 0U} {}

  /// What a rank has done for some time. Phases of shards are ignored.
  DISTRIB_DECL void spent(const Phase& phase);
  /// The contribution (step, rank) was made. If this process has made that step of the rank before, it counts as made
  /// again.
  DISTRIB_DECL void contributed(Rank rank, Step step, float loss);
  /// Reading and decoding input has taken this long, since the process started.
  DISTRIB_DECL void has_read(std::chrono::nanoseconds time);
  /// The bytes of contributions that are kept to be sent again have changed by so many.
  DISTRIB_DECL void replay_changed(std::int64_t bytes);
  /// With dealt ranks: the process serves so many now.
  DISTRIB_DECL void serves(std::size_t ranks);
  /// The job has done this many steps.
  DISTRIB_DECL void reached(Step step);
  /// Counts lost connections; other events are ignored.
  DISTRIB_DECL void told(const Event& event);

  /// Returns the metrics `distrib_worker_...` in Prometheus' text exposition format 0.0.4. All have the label `worker`; and
  /// the label `rank`, if the process is one rank. So their number does not depend on how many ranks the process serves.
  /// A loss is shown once there is one.
  [[nodiscard]] DISTRIB_DECL auto text() const -> std::string;

 private:
  static constexpr std::array timed{Phase::Kind::compute, Phase::Kind::push, Phase::Kind::wait, Phase::Kind::pull};

  const std::uint32_t worker_;
  const bool is_rank_;
  const std::uint64_t examples_;
  const Step total_steps_;
  mutable std::mutex mutex_;  // protects what follows
  std::array<std::chrono::nanoseconds, timed.size()> times_{};
  Step step_ = 0;
  std::size_t ranks_;
  std::map<Rank, Step> newest_;  // that was made
  std::uint64_t contributions_ = 0;
  std::uint64_t again_ = 0;  // of these contributions
  std::chrono::nanoseconds reading_{};
  std::int64_t replay_bytes_ = 0;
  std::uint64_t lost_ = 0;
  float loss_ = 0;
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/ps/worker/impl/worker_meter.ipp>
#endif
