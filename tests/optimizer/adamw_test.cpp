// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/adamw.hpp>

#include "optimizer/adam_moments.hpp"
#include "optimizer/against_reference.hpp"

using distrib::AdamW;
using namespace reference;

TEST_CASE("AdamW: weights decay in addition to Adam's step, each operation rounded", "[optimizer]") {
  const float decay = times(0.25F, 0.1F);
  check_updater(
      AdamW{.learning_rate = 0.1F, .beta1 = 0.8F, .beta2 = 0.95F, .epsilon = 0.01F, .weight_decay = 0.25F},
      [decay](std::uint64_t count, float g, float& w, auto& slots) {
        const float alpha = adam_moments(count, g, slots[0], slots[1]);
        w = minus(minus(w, times(w, decay)), over(times(slots[0], alpha), plus(root(slots[1]), 0.01F)));
      },
      [decay](std::uint64_t count) { return adam_factors<distrib::detail::AdamWFactors<>>(count, decay); });
}

TEST_CASE("AdamW: without a gradient only the decay changes a weight", "[optimizer]") {
  std::vector<float> values{8.0F}, m{0.0F}, v{0.0F};
  const std::array<std::span<float>, 2> slots{m, v};
  AdamW{.learning_rate = 0.5F, .weight_decay = 0.25F}.apply({1}, std::vector{0.0F}, values, values, slots);
  CHECK(values[0] == 7.0F);
}

TEST_CASE("AdamW: its name, slots and description", "[optimizer]") {
  CHECK(AdamW{}.describe() == "learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08 weight_decay=0.004");
  CHECK(AdamW{}.slots()[1] == distrib::Slot{"AdamW_1", 0.0F});
  CHECK(distrib::detail::updates_every_row<AdamW>);
  check_texts({AdamW{}, AdamW{.weight_decay = 0.25F}});
}
