// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/centered_rmsprop.hpp>

#include "optimizer/against_reference.hpp"

using distrib::CenteredRMSProp;
using namespace reference;

TEST_CASE("CenteredRMSProp: divides by the root of the variance, each operation rounded", "[optimizer]") {
  check_updater(
      CenteredRMSProp{.learning_rate = 0.3F, .decay = 0.8F, .momentum = 0.7F, .epsilon = 0.5F},
      [](std::uint64_t, float g, float& w, auto& slots) {
        slots[0] = plus(slots[0], times(minus(times(g, g), slots[0]), minus(1.0F, 0.8F)));
        slots[1] = plus(slots[1], times(minus(g, slots[1]), minus(1.0F, 0.8F)));
        const float variance = plus(minus(slots[0], times(slots[1], slots[1])), 0.5F);
        slots[2] = plus(times(0.7F, slots[2]), over(times(0.3F, g), root(variance)));
        w = minus(w, slots[2]);
      },
      [](std::uint64_t) { return distrib::detail::CenteredRMSPropFactors{0.3F, minus(1.0F, 0.8F), 0.7F, 0.5F}; });
}

TEST_CASE("CenteredRMSProp: its name, slots and description", "[optimizer]") {
  CHECK(CenteredRMSProp::name == "centered_rmsprop");
  CHECK(CenteredRMSProp{}.describe() == "learning_rate=0.01 decay=0.9 momentum=0 epsilon=1e-10");
  CHECK(CenteredRMSProp{}.slots()[0] == distrib::Slot{"RMSProp", 1.0F});
  CHECK(CenteredRMSProp{}.slots()[1] == distrib::Slot{"RMSProp_1", 0.0F});
  CHECK(CenteredRMSProp{}.slots()[2] == distrib::Slot{"RMSProp_2", 0.0F});
  check_texts({CenteredRMSProp{}, CenteredRMSProp{.momentum = 0.25F}});
}
