// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/rmsprop.hpp>

#include "optimizer/against_reference.hpp"

using distrib::RMSProp;
using namespace reference;

TEST_CASE("RMSProp: epsilon inside the root, each operation rounded", "[optimizer]") {
  check_updater(
      RMSProp{.learning_rate = 0.3F, .decay = 0.8F, .momentum = 0.7F, .epsilon = 0.01F},
      [](std::uint64_t, float g, float& w, auto& slots) {
        slots[0] = plus(slots[0], times(minus(times(g, g), slots[0]), minus(1.0F, 0.8F)));
        slots[1] = plus(times(0.7F, slots[1]), over(times(0.3F, g), root(plus(slots[0], 0.01F))));
        w = minus(w, slots[1]);
      },
      [](std::uint64_t) { return distrib::detail::RMSPropFactors{0.3F, minus(1.0F, 0.8F), 0.7F, 0.01F}; });
}

TEST_CASE("RMSProp: a weight decay is added to the gradient", "[optimizer]") {
  check_updater(
      RMSProp{.learning_rate = 0.3F, .decay = 0.8F, .momentum = 0.7F, .epsilon = 0.01F, .weight_decay = 0.2F},
      [](std::uint64_t, float g, float& w, auto& slots) {
        g = decayed(g, w);
        slots[0] = plus(slots[0], times(minus(times(g, g), slots[0]), minus(1.0F, 0.8F)));
        slots[1] = plus(times(0.7F, slots[1]), over(times(0.3F, g), root(plus(slots[0], 0.01F))));
        w = minus(w, slots[1]);
      },
      [](std::uint64_t) { return decaying(distrib::detail::RMSPropFactors{0.3F, minus(1.0F, 0.8F), 0.7F, 0.01F}); });
  check_weight_decay_text<RMSProp>();
}

TEST_CASE("RMSProp: by hand; the mean of squares begins at 1", "[optimizer]") {
  std::vector<float> values{1.0F};
  std::vector<float> square{RMSProp{}.slots()[0].initial};
  std::vector<float> moment{RMSProp{}.slots()[1].initial};
  const std::array<std::span<float>, 2> slots{square, moment};
  RMSProp{.learning_rate = 2.0F, .decay = 0.75F, .momentum = 0.5F}.apply({1}, std::vector{0.5F}, values, values, slots);
  CHECK(square[0] == 0.8125F);  // 1 + (0.25 - 1) / 4
  CHECK(moment[0] == Approx(1.0 / std::sqrt(0.8125)).epsilon(1e-6));
  CHECK(values[0] == 1.0F - moment[0]);
}

TEST_CASE("RMSProp: its name, slots and description", "[optimizer]") {
  CHECK(RMSProp{}.describe() == "learning_rate=0.01 decay=0.9 momentum=0 epsilon=1e-10");
  CHECK(RMSProp{}.slots()[0] == distrib::Slot{"RMSProp", 1.0F});
  CHECK(RMSProp{}.slots()[1] == distrib::Slot{"RMSProp_1", 0.0F});
  check_texts({RMSProp{}, RMSProp{.decay = 0.5F, .momentum = 0.25F}});
}
