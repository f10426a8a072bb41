// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/amsgrad.hpp>

#include "optimizer/adam_moments.hpp"
#include "optimizer/against_reference.hpp"

#include <algorithm>

using distrib::AMSGrad;
using namespace reference;

TEST_CASE("AMSGrad: Adam with the largest mean of squares, each operation rounded", "[optimizer]") {
  check_updater(
      AMSGrad{.learning_rate = 0.1F, .beta1 = 0.8F, .beta2 = 0.95F, .epsilon = 0.01F},
      [](std::uint64_t count, float g, float& w, auto& slots) {
        const float alpha = adam_moments(count, g, slots[0], slots[1]);
        slots[2] = std::max(slots[2], slots[1]);
        w = minus(w, over(times(slots[0], alpha), plus(root(slots[2]), 0.01F)));
      },
      [](std::uint64_t count) { return adam_factors<distrib::detail::AMSGradFactors<>>(count); });
}

TEST_CASE("AMSGrad: the largest mean of squares stays when gradients become small", "[optimizer]") {
  std::vector<float> values{0.0F}, m{0.0F}, v{0.0F}, largest{0.0F};
  const std::array<std::span<float>, 3> slots{m, v, largest};
  const AMSGrad updater{.beta2 = 0.5F};
  updater.apply({1}, std::vector{2.0F}, values, values, slots);
  CHECK(largest[0] == 2.0F);  // 4 * (1 - 0.5)
  updater.apply({2}, std::vector{0.0F}, values, values, slots);
  CHECK(v[0] == 1.0F);
  CHECK(largest[0] == 2.0F);
}

TEST_CASE("AMSGrad: its name, slots and description", "[optimizer]") {
  CHECK(AMSGrad{}.describe() == "learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08");
  CHECK(AMSGrad{}.slots()[2] == distrib::Slot{"AMSGrad_2", 0.0F});
  CHECK(distrib::detail::updates_every_row<AMSGrad>);
  check_texts({AMSGrad{}, AMSGrad{.beta1 = 0.25F}});
}
