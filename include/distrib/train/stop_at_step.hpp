// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// Ends the job after this global step, counted from the first run of the job (TensorFlow's `last_step`). Asynchronous:
/// each contribution counts as a step. If the data end before, the job ends with them. 0 is refused with
/// `train_errc::no_end`.
struct StopAtStep {
  using Setting = StopAtStep;
  std::uint64_t last_step = 0;  ///< Number of the last step, from 1.
};

}  // namespace v0
}  // namespace distrib
