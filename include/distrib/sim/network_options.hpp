// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <chrono>
#include <cstddef>

namespace distrib {
inline namespace v0 {
namespace sim {

/// How a simulated network behaves. Times and sizes are drawn anew for each use, from 1 to these.
struct NetworkOptions {
  std::chrono::microseconds latency{1'000};  ///< Of a piece, one way. Pieces of one direction keep their order.
  std::size_t piece_bytes = 1 << 16;         ///< What one read gives at most; 1: byte by byte.
};

}  // namespace sim
}  // namespace v0
}  // namespace distrib
