// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <utility>

namespace distrib {
inline namespace v0 {

/// Measures the model with its `evaluate()` on each example of `data` once: after the last step, and, if `every_steps`
/// is not 0, at each multiple of that (in a cluster: or at a later step; `Evaluated::step` says which). A run that ends
/// before the last step is not measured at its end. Means are weighted by the sizes of the batches.
///
/// With `averages` the moving averages of the values are measured in place of the values: see `with_moving_average`,
/// which must be in the recipe, otherwise `build` throws `train_errc::no_averages`. Counters have no average: they are
/// as they are. In a cluster the chief reads the averages from checkpoints, so it measures the first checkpoint that is
/// saved at or after a multiple of `every_steps`, and the last one; `SaveCheckpoint` must be in the recipe. A
/// checkpoint that is removed before it is read is not measured. The chief then needs the memory of one shard, slots
/// included. An evaluator measures the averages in each checkpoint.
template <class Data> struct Evaluate {
  using Setting = Evaluate;
  Data data;  ///< `tfrecords(...).schema(...).batch(n)`. Read in order; the last batch may be smaller.
  std::uint64_t every_steps = 0;  ///< Interval between measurements, in steps. 0: only at the end.
  bool averages = false;  ///< Measures the moving averages of the values.
  /// In a cluster, a task `evaluator` measures each checkpoint, and the chief measures nothing: see `Evaluator`. Then
  /// `every_steps` does not count, and the chief's result has no metrics. A job in one process measures as without it.
  bool by_evaluator = false;
};

template <class Data> Evaluate(Data) -> Evaluate<Data>;
template <class Data> Evaluate(Data, std::uint64_t) -> Evaluate<Data>;
template <class Data> Evaluate(Data, std::uint64_t, bool) -> Evaluate<Data>;

namespace detail {
template <class T> inline constexpr bool is_evaluate = false;
template <class Data> inline constexpr bool is_evaluate<Evaluate<Data>> = true;
}  // namespace detail

}  // namespace v0
}  // namespace distrib
