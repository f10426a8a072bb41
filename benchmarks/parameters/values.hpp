// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "../rpc/load.hpp"

#include <cmath>
#include <cstddef>
#include <span>
#include <string>
#include <vector>

// What the programs of this folder share beside the command line and the load of benchmarks/rpc: one dense variable of
// `--bytes` bytes of float32, zeros at first, that the server changes by `value -= learning_rate * gradient` at every
// push. Methods: push, pull, push-pull (counted once, when both are answered). Each program is one server, `serve`, or
// one worker, `load`.

inline constexpr float learning_rate = 1.0F / 1024;

/// What a worker pushes, all the time. It moves values towards zero and a little beyond, so that they stay where floats
/// are fine, however many it pushes.
inline auto gradient(std::size_t bytes, std::span<const float> values) -> std::vector<float> {
  const float sign = !values.empty() && values.front() < 0 ? -1.0F : 1.0F;
  std::vector<float> made(bytes / sizeof(float));
  for (std::size_t i = 0; i < made.size(); ++i) made[i] = sign * (0.5F + static_cast<float>(i % 512) / 1024);
  return made;
}

/// Ends the program unless one push of `gradient` made `after` of `before`: a server that forgets to is no peer.
inline void check_applied(std::span<const float> before, std::span<const float> gradient,
                          std::span<const float> after) {
  if (before.size() != gradient.size() || after.size() != gradient.size()) fail("values of another size");
  for (std::size_t i = 0; i < gradient.size(); ++i)
    if (std::abs(before[i] - learning_rate * gradient[i] - after[i]) > 1e-4F)
      fail("element " + std::to_string(i) + " is " + std::to_string(after[i]) + " after a push, and was " +
           std::to_string(before[i]));
}
