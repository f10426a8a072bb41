// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/momentum.hpp>

#include "optimizer/against_reference.hpp"
#include "optimizer/torch_values.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <array>
#include <span>
#include <vector>

using distrib::Momentum;

namespace {

void apply(const Momentum& momentum, std::span<const float> gradient, std::span<const float> from, std::span<float> to,
           std::span<float> accumulator) {
  const std::array slots{accumulator};
  momentum.apply({1}, gradient, from, to, slots);
}

}  // namespace

TEST_CASE("Momentum: first the accumulator, then the values, each operation rounded", "[optimizer]") {
  using namespace reference;
  check_updater(
      Momentum{.learning_rate = 0.3F, .momentum = 0.7F},
      [](std::uint64_t, float g, float& w, auto& slots) {
        slots[0] = plus(times(0.7F, slots[0]), g);
        w = minus(w, times(0.3F, slots[0]));
      },
      [](std::uint64_t) { return distrib::detail::MomentumFactors{0.3F, 0.7F}; });
  check_updater(
      Momentum{.learning_rate = 0.3F, .momentum = 0.7F, .use_nesterov = true},
      [](std::uint64_t, float g, float& w, auto& slots) {
        slots[0] = plus(times(0.7F, slots[0]), g);
        w = minus(w, plus(times(0.3F, g), times(times(0.7F, slots[0]), 0.3F)));
      },
      [](std::uint64_t) { return distrib::detail::NesterovFactors{0.3F, 0.7F}; });
}

TEST_CASE("Momentum: a weight decay is added to the gradient", "[optimizer]") {
  using namespace reference;
  check_updater(
      Momentum{.learning_rate = 0.3F, .momentum = 0.7F, .weight_decay = 0.2F},
      [](std::uint64_t, float g, float& w, auto& slots) {
        slots[0] = plus(times(0.7F, slots[0]), decayed(g, w));
        w = minus(w, times(0.3F, slots[0]));
      },
      [](std::uint64_t) { return decaying(distrib::detail::MomentumFactors{0.3F, 0.7F}); });
  check_updater(
      Momentum{.learning_rate = 0.3F, .momentum = 0.7F, .use_nesterov = true, .weight_decay = 0.2F},
      [](std::uint64_t, float g, float& w, auto& slots) {
        g = decayed(g, w);
        slots[0] = plus(times(0.7F, slots[0]), g);
        w = minus(w, plus(times(0.3F, g), times(times(0.7F, slots[0]), 0.3F)));
      },
      [](std::uint64_t) { return decaying(distrib::detail::NesterovFactors{0.3F, 0.7F}); });
  check_weight_decay_text<Momentum>();
}

TEST_CASE("Momentum: a dampening leaves the first gradient whole", "[optimizer]") {
  using namespace reference;
  for (const float decay : {0.0F, 0.2F})
    check_updater(
        Momentum{.learning_rate = 0.3F, .momentum = 0.7F, .weight_decay = decay, .dampening = 0.6F},
        [decay](std::uint64_t count, float g, float& w, auto& slots) {
          const float share = count == 1 ? 1.0F : minus(1.0F, 0.6F);
          slots[0] = plus(times(0.7F, slots[0]), times(share, plus(g, times(decay, w))));
          w = minus(w, times(0.3F, slots[0]));
        },
        [decay](std::uint64_t count) {
          return distrib::detail::DampenedMomentumFactors{0.3F, 0.7F, count == 1 ? 1.0F : minus(1.0F, 0.6F), decay};
        });
  CHECK(Momentum{.weight_decay = 0.25F, .dampening = 0.5F}.describe() ==
        "learning_rate=0.01 momentum=0.9 use_nesterov=false weight_decay=0.25 dampening=0.5");
  check_texts({Momentum{.dampening = 0.5F}, Momentum{.weight_decay = 0.25F, .dampening = 0.5F}});
  CHECK_FALSE(checked(Momentum{.dampening = 0.5F}));
  CHECK(checked(Momentum{.use_nesterov = true, .dampening = 0.5F}) == distrib::optimizer_errc::dampened_nesterov);
}

TEST_CASE("Momentum: agrees with PyTorch's SGD, dense and of rows", "[optimizer]") {
  using reference::check_against_torch;
  check_against_torch(Momentum{.learning_rate = 0.05F});
  check_against_torch(Momentum{.learning_rate = 0.05F, .weight_decay = 0.01F});
  check_against_torch(Momentum{.learning_rate = 0.05F, .weight_decay = 0.01F}, true);
  check_against_torch(Momentum{.learning_rate = 0.05F, .use_nesterov = true, .weight_decay = 0.01F});
  check_against_torch(Momentum{.learning_rate = 0.05F, .weight_decay = 0.01F, .dampening = 0.25F});
}

TEST_CASE("Momentum: three steps of a constant gradient", "[optimizer]") {
  struct Row {
    bool nesterov;
    std::array<float, 3> values;
  };
  // By hand: a = 1, 1.5, 1.75; plain: w -= 0.1 a; Nesterov: w -= 0.1 (1 + 0.5 a).
  for (const Row& row : {Row{false, {0.9F, 0.75F, 0.575F}}, Row{true, {0.85F, 0.675F, 0.4875F}}}) {
    const Momentum momentum{.learning_rate = 0.1F, .momentum = 0.5F, .use_nesterov = row.nesterov};
    std::vector<float> value{1.0F};
    std::vector<float> accumulator{0.0F};
    for (const float expected : row.values) {
      apply(momentum, std::vector{1.0F}, value, value, accumulator);
      CHECK(value[0] == Approx(expected).epsilon(1e-6));
    }
    CHECK(accumulator[0] == 1.75F);
  }
}

TEST_CASE("Momentum: a part gets the same values as in the whole variable", "[optimizer]") {
  const std::vector<float> gradient = reference::numbers(101, 1);
  std::vector<float> whole = reference::numbers(101, 2);
  std::vector<float> parts = whole;
  std::vector<float> whole_slot(101, 0.5F);
  std::vector<float> parts_slot = whole_slot;
  const Momentum momentum{};
  apply(momentum, gradient, whole, whole, whole_slot);
  for (std::size_t at = 0; at < 101; at += 34) {
    const std::size_t count = std::min<std::size_t>(34, 101 - at);
    const auto part = std::span{parts}.subspan(at, count);
    apply(momentum, std::span{gradient}.subspan(at, count), part, part, std::span{parts_slot}.subspan(at, count));
  }
  CHECK(parts == whole);
  CHECK(parts_slot == whole_slot);
}

TEST_CASE("Momentum: its name, slots and description", "[optimizer]") {
  CHECK(Momentum::name == "momentum");
  REQUIRE(Momentum{}.slots().size() == 1);
  CHECK(Momentum{}.slots()[0].name == "Momentum");
  CHECK(Momentum{}.slots()[0].initial == 0.0F);
  CHECK(Momentum{.learning_rate = 0.05F}.describe() == "learning_rate=0.05 momentum=0.9 use_nesterov=false");
  CHECK(Momentum{.momentum = 0.5F, .use_nesterov = true}.describe() ==
        "learning_rate=0.01 momentum=0.5 use_nesterov=true");
  CHECK(Momentum{.use_nesterov = true} != Momentum{});
}

TEST_CASE("Momentum: parse is the opposite of describe()", "[optimizer]") {
  for (const Momentum& momentum :
       {Momentum{}, Momentum{.learning_rate = distrib::Linear{0.02F, 0.0F, 12000}, .momentum = 0.5F},
        Momentum{.use_nesterov = true}})
    CHECK(Momentum::parse(momentum.describe()) == momentum);
  for (const char* text :
       {"", "learning_rate=0.05", "learning_rate=0.05 momentum=0.9",
        "learning_rate=0.05 use_nesterov=false momentum=0.9", "learning_rate=0.05 momentum=0.9 use_nesterov=0",
        "learning_rate=0.05 momentum=0.9 use_nesterov=false "})
    CHECK_FALSE(Momentum::parse(text));
}
