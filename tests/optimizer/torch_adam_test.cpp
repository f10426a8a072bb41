// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/torch_adam.hpp>

#include "optimizer/against_reference.hpp"
#include "optimizer/torch_values.hpp"

#include <cmath>

using distrib::TorchAdam;
using namespace reference;

namespace {

/// The factors of both tests below, computed with libm: only single operations and powers of exact numbers.
auto torch_adam_factors(std::uint64_t count, float decay, float keep) -> distrib::detail::TorchAdamFactors<> {
  const double correction2 = 1 - std::pow(0.75, static_cast<double>(count));
  const auto step_size = static_cast<float>(0.125 / (1 - std::pow(0.5, static_cast<double>(count))));
  return {step_size, 0.5F, 0.75F, 0.25F, static_cast<float>(std::sqrt(correction2)), 0.01F, decay, keep};
}

void update_torch_adam(const distrib::detail::TorchAdamFactors<>& f, float g, float& w, auto& slots) {
  w = times(w, f.keep);
  g = plus(g, times(f.weight_decay, w));
  slots[0] = plus(slots[0], times(minus(g, slots[0]), f.blend1));
  slots[1] = plus(times(slots[1], f.keep2), times(times(f.blend2, g), g));
  w = minus(w, over(times(f.step_size, slots[0]), plus(over(root(slots[1]), f.root), f.epsilon)));
}

}  // namespace

TEST_CASE("TorchAdam: epsilon beside the corrected root, each operation rounded", "[optimizer]") {
  TorchAdam adam{.learning_rate = 0.125F, .beta1 = 0.5, .beta2 = 0.75, .epsilon = 0.01F, .weight_decay = 0.2F};
  const auto coupled = [](std::uint64_t count) { return torch_adam_factors(count, 0.2F, 1.0F); };
  check_updater(
      adam,
      [&](std::uint64_t count, float g, float& w, auto& slots) { update_torch_adam(coupled(count), g, w, slots); },
      coupled);
  adam.decoupled_weight_decay = true;
  const auto decoupled = [](std::uint64_t count) {
    return torch_adam_factors(count, 0.0F, static_cast<float>(1 - 0.125 * double{0.2F}));
  };
  check_updater(
      adam,
      [&](std::uint64_t count, float g, float& w, auto& slots) { update_torch_adam(decoupled(count), g, w, slots); },
      decoupled);
}

TEST_CASE("TorchAdam: agrees with PyTorch's Adam and AdamW", "[optimizer]") {
  check_against_torch(TorchAdam{});
  const TorchAdam adam{.learning_rate = 0.01F, .beta1 = 0.9, .beta2 = 0.99, .epsilon = 1e-6F};
  TorchAdam decaying = adam;
  decaying.weight_decay = 0.01F;
  check_against_torch(decaying);
  decaying.weight_decay = 0.1F;
  decaying.decoupled_weight_decay = true;
  check_against_torch(decaying);
}

TEST_CASE("TorchAdam: its name, slots and description", "[optimizer]") {
  CHECK(TorchAdam::name == "torch_adam");
  CHECK(TorchAdam{}.slots()[0] == distrib::Slot{"exp_avg", 0.0F});
  CHECK(TorchAdam{}.slots()[1] == distrib::Slot{"exp_avg_sq", 0.0F});
  CHECK(TorchAdam{}.describe() ==
        "learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08 weight_decay=0 decoupled_weight_decay=false");
  CHECK(distrib::detail::updates_every_row<TorchAdam>);
  check_texts({TorchAdam{}, TorchAdam{.beta1 = 0.8, .weight_decay = 0.01F, .decoupled_weight_decay = true}});
}

TEST_CASE("TorchAdam: refuses negative numbers", "[optimizer]") {
  CHECK_FALSE(checked(TorchAdam{}));
  CHECK(checked(TorchAdam{.epsilon = -1.0F}) == distrib::optimizer_errc::negative);
  CHECK(checked(TorchAdam{.weight_decay = -1.0F}) == distrib::optimizer_errc::negative);
}
