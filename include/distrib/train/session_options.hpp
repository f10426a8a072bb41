// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/tensor/values.hpp>
#include <distrib/train/model.hpp>

#include <chrono>
#include <functional>
#include <string>

namespace distrib {
inline namespace v0 {

/// How a session begins. What else TensorFlow's Scaffold has is elsewhere: initializers belong to the variables,
/// `init_fn` is `initial_values()` of the model or `with_initial_checkpoint`, the saver is `SaveCheckpoint`, summaries
/// are `WriteSummaries`. A value. `Variables`: those of the model.
template <class Variables> struct SessionOptions {
  /// Checks the values with which this process begins, before its first step. Returns what is not ready, for an error
  /// with `train_errc::not_ready`; an empty text: all is. Empty: not checked.
  std::function<std::string(const Values<Variables>& values)> ready = {};
  /// Sets up what belongs to this process alone, before its first step, as local_init_op: for example an index over the
  /// values. Called once in each process that computes, after `ready`. `context`: of that first step.
  std::function<void(const Values<Variables>& values, StepContext context)> local_init = {};
  /// In a cluster, how long a worker waits for the chief (until it has joined, or the job has done a step), and then
  /// for the values of all shards. Default: two hours, as max_wait_secs. `ClusterMode::start_within` ends the wait for
  /// a parameter server that cannot be reached.
  std::chrono::milliseconds max_wait{7'200'000};
};

}  // namespace v0
}  // namespace distrib
