// SPDX-License-Identifier: Apache-2.0
#include <distrib/sim/options.hpp>

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <set>
#include <utility>

using namespace distrib;

TEST_CASE("Options: a seed always draws the same network, and together the seeds draw all networks", "[sim]") {
  std::set<std::pair<std::int64_t, std::size_t>> networks;
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    sim::Dice dice{seed}, again{seed};
    const sim::NetworkOptions drawn = sim::detail::drawn_network(dice), once_more = sim::detail::drawn_network(again);
    CHECK(drawn.latency == once_more.latency);
    CHECK(drawn.piece_bytes == once_more.piece_bytes);
    networks.emplace(drawn.latency.count(), drawn.piece_bytes);
  }
  CHECK(networks.size() == 9);
}
