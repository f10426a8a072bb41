// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/libtorch/torch.hpp>

#include <cstdint>
#include <string>
#include <utility>
#include <vector>

namespace distrib {
inline namespace v0 {

/// What a job does with a buffer of a module.
enum class TorchBuffer : std::uint8_t {
  /// float32: a variable. After each step it is the mean of what the ranks made of it, as running statistics should be.
  average,
  count,  ///< int64: a counter. It grows by what rank 0 added to it.
  constant,  ///< Stays as `make()` made it. To change it is an error.
};

/// How modules are trained. A value.
struct TorchOptions {
  /// Threads that one operator uses. Other numbers give other bits. Holds for the whole process, so all models of one
  /// process must have the same.
  int intra_op_threads = 1;
  /// True: only algorithms that give the same bits each time; an operator that has none throws. Holds for the whole
  /// process, so all models of one process must have the same.
  bool deterministic = true;
  /// True: a parameter that got no gradient has the gradient 0. False: that is an error.
  bool allow_unused = false;
  /// True: `loss()` of one rank of this process runs at a time, with random numbers of (seed, step, rank). False: the
  /// module draws no random numbers, in dropout for example, and several ranks may run at a time; it is an error if it
  /// does.
  bool draws_random = true;
  /// True: operators that are safe in bfloat16 compute in it (autocast). Parameters and gradients stay float32.
  bool autocast_bfloat16 = false;
  /// Where the module computes. On another device than the CPU, values and gradients are copied, in one piece each.
  torch::Device device = torch::kCPU;
  /// What happens to buffers: the name of a buffer or the beginning of several names, and the rule. The longest name
  /// that fits counts. Where none fits: `average` for float32 buffers called running_mean and running_var, `count` for
  /// int64 buffers called num_batches_tracked, and `constant` for all others.
  std::vector<std::pair<std::string, TorchBuffer>> buffers = {};
};

}  // namespace v0
}  // namespace distrib
