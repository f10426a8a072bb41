// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <distrib/sim/options.hpp>

#include <chrono>

namespace distrib {
inline namespace v0 {
namespace sim {

namespace detail {

DISTRIB_DECL auto drawn_network(Dice& dice) -> NetworkOptions {
  NetworkOptions network;
  network.latency = std::chrono::microseconds{dice.pick({20, 300, 3000})};
  network.piece_bytes = dice.pick<std::size_t>({1, 40, 1 << 16});
  return network;
}

}  // namespace detail

}  // namespace sim
}  // namespace v0
}  // namespace distrib
