// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/torch_adagrad.hpp>

#include "optimizer/against_reference.hpp"
#include "optimizer/torch_values.hpp"

using distrib::TorchAdagrad;
using namespace reference;

TEST_CASE("TorchAdagrad: epsilon beside the root, each operation rounded", "[optimizer]") {
  const auto rate = [](std::uint64_t count) {
    return static_cast<float>(double{0.3F} / (1 + static_cast<double>(count - 1) * 0.5));
  };
  check_updater(
      TorchAdagrad{.learning_rate = 0.3F,
                   .rate_decay = 0.5,
                   .weight_decay = 0.2F,
                   .initial_accumulator_value = 0.25F,
                   .epsilon = 0.01F},
      [&](std::uint64_t count, float g, float& w, auto& slots) {
        g = decayed(g, w);
        slots[0] = plus(slots[0], times(g, g));
        w = minus(w, over(times(rate(count), g), plus(root(slots[0]), 0.01F)));
      },
      [&](std::uint64_t count) { return distrib::detail::TorchAdagradFactors{rate(count), 0.2F, 0.01F}; });
}

TEST_CASE("TorchAdagrad: agrees with PyTorch's, dense and sparse", "[optimizer]") {
  check_against_torch(TorchAdagrad{});
  check_against_torch(TorchAdagrad{.learning_rate = 0.1F, .rate_decay = 0.01}, true);
  check_against_torch(TorchAdagrad{.learning_rate = 0.1F,
                                   .rate_decay = 0.01,
                                   .weight_decay = 0.01F,
                                   .initial_accumulator_value = 0.25F,
                                   .epsilon = 1e-4F});
}

TEST_CASE("TorchAdagrad: a gradient of zeros changes nothing, also at the first update", "[optimizer]") {
  std::vector<float> values{1.0F, 2.0F};
  std::vector<float> sums(2, TorchAdagrad{}.slots()[0].initial);
  TorchAdagrad{}.apply({1}, std::vector{0.0F, 0.0F}, values, values, std::array<std::span<float>, 1>{sums});
  CHECK(values == std::vector{1.0F, 2.0F});
}

TEST_CASE("TorchAdagrad: its name, slots and description", "[optimizer]") {
  CHECK(TorchAdagrad::name == "torch_adagrad");
  CHECK(TorchAdagrad{.initial_accumulator_value = 0.5F}.slots()[0] == distrib::Slot{"sum", 0.5F});
  CHECK(TorchAdagrad{}.describe() ==
        "learning_rate=0.01 rate_decay=0 weight_decay=0 initial_accumulator_value=0 epsilon=1e-10");
  CHECK_FALSE(distrib::detail::updates_every_row<TorchAdagrad>);
  check_texts({TorchAdagrad{}, TorchAdagrad{.rate_decay = 0.1, .epsilon = 0.5F}});
}

TEST_CASE("TorchAdagrad: refuses negative numbers, and to divide by 0", "[optimizer]") {
  CHECK_FALSE(checked(TorchAdagrad{}));
  CHECK_FALSE(checked(TorchAdagrad{.initial_accumulator_value = 0.1F, .epsilon = 0.0F}));
  for (const TorchAdagrad& bad : {TorchAdagrad{.rate_decay = -1}, TorchAdagrad{.weight_decay = -1.0F},
                                  TorchAdagrad{.initial_accumulator_value = -1.0F}, TorchAdagrad{.epsilon = -1.0F}})
    CHECK(checked(bad) == distrib::optimizer_errc::negative);
  CHECK(checked(TorchAdagrad{.epsilon = 0.0F}) == distrib::optimizer_errc::accumulator_not_positive);
}
