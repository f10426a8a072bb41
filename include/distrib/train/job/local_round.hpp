// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/core/bytes.hpp>
#include <distrib/core/decl.hpp>
#include <distrib/optimizer/any_updater.hpp>
#include <distrib/ps/job/job.hpp>
#include <distrib/ps/job/step.hpp>
#include <distrib/tensor/runtime_values.hpp>

#include <span>
#include <vector>

namespace distrib {
inline namespace v0 {

/// A round of local steps: a worker updates its own copy of the values some times, and contributes what that has
/// changed (`Job::local_steps`). Nothing of a round is left in the next one, so a contribution is a function of its
/// name and of the values, whichever process makes it, after whatever it has made before. Same bits on every machine.
///
/// A counter gets its amount at each local step, and its contribution is their sum.
///
/// Threads: one at a time.
class LocalRound {
 public:
  /// `updaters`: of each variable of the job; those of counters are not used. The job must have no tables.
  DISTRIB_DECL LocalRound(const Job& job, std::vector<AnyUpdater> updaters);

  /// Begins a round: copies `values` to `own`, which must not be lent, and gives all slots their first values. `before`:
  /// number of local steps of the job before this round.
  DISTRIB_DECL void begin(Step before, const RuntimeValues& values, RuntimeValues& own);

  /// Makes the next local step: updates `own` by `gradients`.
  DISTRIB_DECL void step(const RuntimeGradients& gradients, RuntimeValues& own);

  /// Ends the round: writes `values` - `own` to `contribution`, which the outer updater takes for a gradient, and for
  /// counters the sum of the amounts. `values`: those of `begin`.
  DISTRIB_DECL void end(const RuntimeValues& values, const RuntimeValues& own, RuntimeGradients& contribution) const;

 private:
  struct OfVariable {
    AnyUpdater updater;
    bool counts;  // a counter
    bool is_integer;
    std::vector<AlignedBuffer> blocks;  // of the slots; of a counter: the sum of its amounts
    std::vector<std::span<float>> slots;
  };

  std::vector<OfVariable> variables_;
  Step before_ = 0;
  Step made_ = 0;  // local steps of the job so far
};

}  // namespace v0
}  // namespace distrib

#ifdef DISTRIB_HEADER_ONLY
#include <distrib/train/job/impl/local_round.ipp>
#endif
