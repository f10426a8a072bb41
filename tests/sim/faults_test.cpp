// SPDX-License-Identifier: Apache-2.0
#include <distrib/sim/faults.hpp>

#include "support/catch.hpp"

#include <cstdint>

using distrib::sim::Dice;
using distrib::sim::Faults;

TEST_CASE("Faults: a seed always draws the same faults; some seeds draw a kind of fault, others do not", "[sim]") {
  Faults with{}, without{};
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    Dice dice{seed}, again{seed};
    const Faults drawn = Faults::drawn(dice), once_more = Faults::drawn(again);
    for (const auto kind : {&Faults::resets, &Faults::half_open, &Faults::partitions, &Faults::worker_deaths,
                            &Faults::ps_deaths, &Faults::zombies, &Faults::power_losses, &Faults::bit_flips,
                            &Faults::full_disks, &Faults::slow_disks, &Faults::slow_processes}) {
      CHECK(drawn.*kind == once_more.*kind);
      CHECK(drawn.*kind <= 8);
      Faults& seen = drawn.*kind != 0 ? with : without;
      seen.*kind += 1;
    }
  }
  for (const auto kind : {&Faults::resets, &Faults::half_open, &Faults::partitions, &Faults::worker_deaths,
                          &Faults::ps_deaths, &Faults::zombies, &Faults::power_losses, &Faults::bit_flips,
                          &Faults::full_disks, &Faults::slow_disks, &Faults::slow_processes}) {
    CHECK(with.*kind > 5);
    CHECK(without.*kind > 5);
  }
}
