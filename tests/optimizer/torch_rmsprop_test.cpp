// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/torch_rmsprop.hpp>

#include "optimizer/against_reference.hpp"
#include "optimizer/torch_values.hpp"

using distrib::TorchRMSProp;
using namespace reference;

TEST_CASE("TorchRMSProp: epsilon beside the root, each operation rounded", "[optimizer]") {
  check_updater(
      TorchRMSProp{.learning_rate = 0.3F, .decay = 0.75, .epsilon = 0.01F, .weight_decay = 0.2F, .momentum = 0.7F},
      [](std::uint64_t, float g, float& w, auto& slots) {
        g = decayed(g, w);
        slots[0] = plus(times(slots[0], 0.75F), times(times(0.25F, g), g));
        slots[1] = plus(times(0.7F, slots[1]), over(g, plus(root(slots[0]), 0.01F)));
        w = minus(w, times(0.3F, slots[1]));
      },
      [](std::uint64_t) { return distrib::detail::TorchRMSPropFactors{0.3F, 0.75F, 0.25F, 0.01F, 0.2F, 0.7F}; });
}

TEST_CASE("TorchRMSProp: agrees with PyTorch's, dense and of rows", "[optimizer]") {
  check_against_torch(TorchRMSProp{});
  const TorchRMSProp rmsprop{
      .learning_rate = 0.01F, .decay = 0.9, .epsilon = 1e-6F, .weight_decay = 0.01F, .momentum = 0.5F};
  check_against_torch(rmsprop);
  check_against_torch(rmsprop, true);
}

TEST_CASE("TorchRMSProp: its name, slots and description", "[optimizer]") {
  CHECK(TorchRMSProp::name == "torch_rmsprop");
  CHECK(TorchRMSProp{}.slots()[0] == distrib::Slot{"square_avg", 0.0F});
  CHECK(TorchRMSProp{}.slots()[1] == distrib::Slot{"momentum_buffer", 0.0F});
  CHECK(TorchRMSProp{}.describe() == "learning_rate=0.01 decay=0.99 epsilon=1e-08 weight_decay=0 momentum=0");
  CHECK_FALSE(distrib::detail::updates_every_row<TorchRMSProp>);
  check_texts({TorchRMSProp{}, TorchRMSProp{.decay = 0.9, .momentum = 0.5F}});
}

TEST_CASE("TorchRMSProp: refuses negative numbers", "[optimizer]") {
  CHECK_FALSE(checked(TorchRMSProp{}));
  CHECK(checked(TorchRMSProp{.epsilon = -1.0F}) == distrib::optimizer_errc::negative);
  CHECK(checked(TorchRMSProp{.weight_decay = -1.0F}) == distrib::optimizer_errc::negative);
}
