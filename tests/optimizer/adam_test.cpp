// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/adam.hpp>

#include "optimizer/adam_moments.hpp"
#include "optimizer/against_reference.hpp"
#include "support/catch.hpp"

#include <array>
#include <cmath>
#include <span>
#include <vector>

using distrib::Adam;

namespace {

struct State {
  std::vector<float> values;
  std::vector<float> m;
  std::vector<float> v;
};

void apply(const Adam& adam, std::uint64_t count, std::span<const float> gradient, State& state) {
  const std::array<std::span<float>, 2> slots{state.m, state.v};
  adam.apply({count}, gradient, state.values, state.values, slots);
}

}  // namespace

TEST_CASE("Adam: moments and values, each operation rounded", "[optimizer]") {
  using namespace reference;
  check_updater(
      Adam{.learning_rate = 0.1F, .beta1 = 0.8F, .beta2 = 0.95F, .epsilon = 0.01F},
      [](std::uint64_t count, float g, float& w, auto& slots) {
        const float alpha = adam_moments(count, g, slots[0], slots[1]);
        w = minus(w, over(times(slots[0], alpha), plus(root(slots[1]), 0.01F)));
      },
      [](std::uint64_t count) { return adam_factors<distrib::detail::AdamFactors<>>(count); });
}

TEST_CASE("Adam: a weight decay is added to the gradient", "[optimizer]") {
  using namespace reference;
  check_updater(
      Adam{.learning_rate = 0.1F, .beta1 = 0.8F, .beta2 = 0.95F, .epsilon = 0.01F, .weight_decay = 0.2F},
      [](std::uint64_t count, float g, float& w, auto& slots) {
        const float alpha = adam_moments(count, decayed(g, w), slots[0], slots[1]);
        w = minus(w, over(times(slots[0], alpha), plus(root(slots[1]), 0.01F)));
      },
      [](std::uint64_t count) { return decaying(adam_factors<distrib::detail::AdamFactors<>>(count)); });
  check_weight_decay_text<Adam>();
}

TEST_CASE("Adam: agrees with TensorFlow's, with epsilon outside the root", "[optimizer]") {
  const Adam adam{.learning_rate = 0.1F, .beta1 = 0.9F, .beta2 = 0.999F, .epsilon = 1.0F};
  State state{{1.0F, 2.0F}, {0.0F, 0.0F}, {0.0F, 0.0F}};
  const float expected[3][2] = {{0.9984434843063354F, 2.001556634902954F},
                                {0.9962568879127502F, 2.0037431716918945F},
                                {0.9935926198959351F, 2.0064074993133545F}};
  for (std::uint64_t count = 1; count <= 3; ++count) {
    apply(adam, count, std::vector{0.5F, -0.5F}, state);
    for (std::size_t i = 0; i < 2; ++i) CHECK(state.values[i] == Approx(expected[count - 1][i]).epsilon(1e-6));
  }
  CHECK(state.m[0] == Approx(0.13550002872943878F).epsilon(1e-6));
  CHECK(state.m[1] == -state.m[0]);
  CHECK(state.v[0] == Approx(0.0007492406293749809F).epsilon(1e-6));
  CHECK(adam.beta1_power(4) == Approx(0.6560999155044556).epsilon(1e-6));
  CHECK(adam.beta2_power(4) == Approx(0.9960060715675354).epsilon(1e-6));
}

TEST_CASE("Adam: powers depend on the count alone", "[optimizer]") {
  const Adam adam{};
  double beta1 = 1.0;
  double beta2 = 1.0;
  for (std::uint64_t count = 0; count < 2000; ++count) {
    CAPTURE(count);
    REQUIRE(adam.beta1_power(count) == Approx(beta1).epsilon(1e-12));
    REQUIRE(adam.beta2_power(count) == Approx(beta2).epsilon(1e-12));
    beta1 *= double{0.9F};
    beta2 *= double{0.999F};
  }
  CHECK(adam.beta1_power(std::uint64_t{1} << 63) == 0.0);
  CHECK(distrib::detail::adam_alpha(0.5F, 0.0, 0.0) == 0.5F);
  CHECK(distrib::detail::adam_alpha(0.001F, 0.9, 0.999) ==
        static_cast<float>(double{0.001F} * std::sqrt(1 - 0.999) / (1 - 0.9)));
}

TEST_CASE("Adam: the first step has the length of the rate, whatever the size of the gradient", "[optimizer]") {
  for (const float gradient : {1e-3F, 1.0F, -1e3F}) {
    State state{{0.0F}, {0.0F}, {0.0F}};
    apply(Adam{}, 1, std::vector{gradient}, state);
    CHECK(state.values[0] == Approx(gradient > 0 ? -0.001F : 0.001F).epsilon(1e-3));
  }
}

TEST_CASE("Adam: its name, slots and description", "[optimizer]") {
  CHECK(Adam::name == "adam");
  REQUIRE(Adam{}.slots().size() == 2);
  CHECK(Adam{}.slots()[0].name == "Adam");
  CHECK(Adam{}.slots()[1].name == "Adam_1");
  CHECK(Adam{}.describe() == "learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-08");
  CHECK(Adam{.beta2 = 0.99F} != Adam{});
}

TEST_CASE("Adam: parse is the opposite of describe()", "[optimizer]") {
  for (const Adam& adam : {Adam{}, Adam{.learning_rate = distrib::Linear{0.02F, 0.0F, 12000}, .epsilon = 0.1F},
                           Adam{.beta1 = 0.0F, .beta2 = 0.99F}})
    CHECK(Adam::parse(adam.describe()) == adam);
  for (const char* text : {"", "learning_rate=0.001 beta1=0.9 beta2=0.999", "learning_rate=0.001",
                           "learning_rate=0.001 beta1=0.9 beta2=0.999 epsilon=1e-8",
                           "learning_rate=0.001 beta1=0.9 beta1=0.999 epsilon=1e-08"})
    CHECK_FALSE(Adam::parse(text));
}
