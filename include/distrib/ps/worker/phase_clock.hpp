// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/net/instant.hpp>
#include <distrib/ps/job/phase.hpp>
#include <distrib/ps/job/step.hpp>

#include <cstdint>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Divides the time of a worker into phases. Events in, phases out; reads no clock.
///
/// Threads: one at a time.
class PhaseClock {
 public:
  /// `out` receives the phases of `rank`. Empty: nothing is measured.
  PhaseClock(std::uint32_t rank, PhaseObserver out) : rank_{rank}, out_{std::move(out)} {}

  /// True if phases are measured.
  [[nodiscard]] auto measures() const noexcept -> bool { return static_cast<bool>(out_); }

  /// The values for the contribution of `step` are there; they are made of `counted` steps.
  void computing(Step step, Step counted, Instant now) {
    if (!measures()) return;
    if (at_ != At::computing && at_ != At::start) {
      written(now);
      arriving(now);
      tell(Phase::Kind::pull, now);
    }
    tell(Phase::Kind::reached, counted, now, now);
    step_ = step;
    begin(At::computing, now);
  }

  /// The contribution is computed, and its push begins.
  void computed(Instant now) {
    if (!measures() || at_ != At::computing) return;
    tell(Phase::Kind::compute, now);
    begin(At::pushing, now);
  }

  /// Everything that was to be sent is written.
  void written(Instant now) {
    if (at_ != At::pushing) return;
    tell(Phase::Kind::push, now);
    begin(At::waiting, now);
  }

  /// Values begin to arrive, or have arrived. Before `written`: the push still counts.
  void arriving(Instant now) {
    if (at_ != At::waiting) return;
    tell(Phase::Kind::wait, now);
    begin(At::pulling, now);
  }

 private:
  enum class At : std::uint8_t { start, computing, pushing, waiting, pulling };

  void begin(At at, Instant now) {
    at_ = at;
    since_ = now;
  }
  void tell(Phase::Kind kind, Instant now) { tell(kind, step_, since_, now); }
  void tell(Phase::Kind kind, Step step, Instant from, Instant to) const { out_({kind, rank_, step, from, to, true}); }

  std::uint32_t rank_;
  PhaseObserver out_;
  At at_ = At::start;
  Step step_ = 0;  // of the contribution
  Instant since_{};
};

}  // namespace v0
}  // namespace distrib
