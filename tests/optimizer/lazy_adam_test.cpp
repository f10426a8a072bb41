// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/lazy_adam.hpp>

#include "optimizer/adam_moments.hpp"
#include "optimizer/against_reference.hpp"
#include "optimizer/torch_values.hpp"

using distrib::LazyAdam;
using namespace reference;

TEST_CASE("LazyAdam: Adam's arithmetic, each operation rounded", "[optimizer]") {
  check_updater(
      LazyAdam{.learning_rate = 0.1F, .beta1 = 0.8F, .beta2 = 0.95F, .epsilon = 0.01F},
      [](std::uint64_t count, float g, float& w, auto& slots) {
        const float alpha = adam_moments(count, g, slots[0], slots[1]);
        w = minus(w, over(times(slots[0], alpha), plus(root(slots[1]), 0.01F)));
      },
      [](std::uint64_t count) { return adam_factors<distrib::detail::AdamFactors<>>(count); });
}

TEST_CASE("LazyAdam: a weight decay is added to the gradient", "[optimizer]") {
  check_updater(
      LazyAdam{.learning_rate = 0.1F, .beta1 = 0.8F, .beta2 = 0.95F, .epsilon = 0.01F, .weight_decay = 0.2F},
      [](std::uint64_t count, float g, float& w, auto& slots) {
        const float alpha = adam_moments(count, decayed(g, w), slots[0], slots[1]);
        w = minus(w, over(times(slots[0], alpha), plus(root(slots[1]), 0.01F)));
      },
      [](std::uint64_t count) { return decaying(adam_factors<distrib::detail::AdamFactors<>>(count)); });
  check_weight_decay_text<LazyAdam>();
}

TEST_CASE("LazyAdam: agrees with PyTorch's SparseAdam", "[optimizer]") {
  check_against_torch(LazyAdam{.learning_rate = 0.01F, .beta1 = 0.9F, .beta2 = 0.99F, .epsilon = 1e-6F}, true);
}

TEST_CASE("LazyAdam: its name, slots and description", "[optimizer]") {
  CHECK(LazyAdam::name == "lazy_adam");
  CHECK(LazyAdam{}.describe() == "learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08");
  CHECK(LazyAdam{}.slots()[1] == distrib::Slot{"Adam_1", 0.0F});
  CHECK_FALSE(distrib::detail::updates_every_row<LazyAdam>);
  check_texts({LazyAdam{}, LazyAdam{.beta1 = 0.25F}});
}
