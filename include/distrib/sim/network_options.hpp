// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

namespace distrib {
inline namespace v0 {
namespace sim {

/// How a simulated network behaves. Each time and size is drawn when it is used, from 1 to the value here. A value
/// below 1 counts as 1.
struct NetworkOptions {
  /// Longest time that bytes take from one end to the other. What one end sends arrives in the order in which it was
  /// sent.
  std::chrono::microseconds latency{1'000};
  std::size_t piece_bytes = 1 << 16;  ///< Most bytes of one read. 1: byte by byte.
};

}  // namespace sim
}  // namespace v0
}  // namespace distrib
