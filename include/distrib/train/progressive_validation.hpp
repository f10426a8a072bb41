// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

namespace distrib {
inline namespace v0 {

/// Measures the model with its `evaluate()` on each batch before it is trained on it, with the values from which the
/// gradient is computed: a measure of how well the model predicts records that it has not seen, without data that are
/// kept apart. For streams. Hooks get `ValidatedProgressively`, with the metrics of all batches since the last one.
///
/// In a cluster the chief measures its own batches: a share of all. What is trained does not depend on it. It costs one
/// `evaluate()` for each batch.
struct ProgressiveValidation {
  using Setting = ProgressiveValidation;
  std::uint64_t every_steps = 100;  ///< Interval between the events, in steps. 0 counts as 1.
};

}  // namespace v0
}  // namespace distrib
