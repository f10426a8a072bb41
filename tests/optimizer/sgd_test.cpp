// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/sgd.hpp>

#include "optimizer/against_reference.hpp"
#include "optimizer/torch_values.hpp"
#include "support/catch.hpp"

#include <vector>

using distrib::Linear;
using distrib::Sgd;

TEST_CASE("Sgd: w -= rate * g, each operation rounded, any length, in place or not", "[optimizer]") {
  reference::check_updater(
      Sgd{.learning_rate = 0.3F},
      [](std::uint64_t, float g, float& w, auto&) { w = reference::minus(w, reference::times(0.3F, g)); },
      [](std::uint64_t) { return distrib::detail::SgdFactors{0.3F}; });
}

TEST_CASE("Sgd: a weight decay is added to the gradient", "[optimizer]") {
  using namespace reference;
  check_updater(
      Sgd{.learning_rate = 0.3F, .weight_decay = 0.2F},
      [](std::uint64_t, float g, float& w, auto&) { w = minus(w, times(0.3F, decayed(g, w))); },
      [](std::uint64_t) { return decaying(distrib::detail::SgdFactors{0.3F}); });
  check_weight_decay_text<Sgd>();
}

TEST_CASE("Sgd: agrees with TensorFlow's GradientDescent", "[optimizer]") {
  std::vector<float> values{1.0F, 2.0F};
  Sgd{.learning_rate = 3.0F}.apply({1}, std::vector{0.1F, 0.1F}, values, values, {});
  CHECK(values == std::vector{0.699999988079071F, 1.7000000476837158F});
}

TEST_CASE("Sgd: agrees with PyTorch's SGD, dense and of rows, with weight decay and schedule", "[optimizer]") {
  using reference::check_against_torch;
  check_against_torch(Sgd{.learning_rate = 0.1F});
  check_against_torch(Sgd{.learning_rate = 0.1F}, true);
  check_against_torch(Sgd{.learning_rate = 0.1F, .weight_decay = 0.01F});
  check_against_torch(Sgd{.learning_rate = 0.1F, .weight_decay = 0.01F}, true);
  check_against_torch(
      Sgd{.learning_rate = distrib::WarmUp{.steps = 10, .start = 0.1, .then = distrib::CosineDecay{0.1F, 0.0F, 80}}});
}

TEST_CASE("Sgd: uses the rate of the update's number", "[optimizer]") {
  const Sgd sgd{.learning_rate = Linear{.first = 1.0F, .last = 0.0F, .steps = 4}};
  std::vector<float> values{0.0F};
  for (std::uint64_t count = 1; count <= 6; ++count) sgd.apply({count}, std::vector{1.0F}, values, values, {});
  CHECK(values[0] == -2.5F);  // 1 + 0.75 + 0.5 + 0.25
}

TEST_CASE("Sgd: its name, slots and description", "[optimizer]") {
  CHECK(Sgd::name == "sgd");
  CHECK(Sgd{}.slots().empty());
  CHECK(Sgd{}.describe() == "learning_rate=0.01");
  CHECK(Sgd{.learning_rate = 0.05F}.describe() == "learning_rate=0.05");
  CHECK(Sgd{.learning_rate = Linear{0.02F, 0.0F, 12000}}.describe() == "learning_rate=linear(0.02,0,12000)");
  CHECK(Sgd{.learning_rate = 0.05F} != Sgd{});
}

TEST_CASE("Sgd: parse is the opposite of describe()", "[optimizer]") {
  for (const Sgd& sgd : {Sgd{}, Sgd{.learning_rate = 0.05F}, Sgd{.learning_rate = Linear{0.02F, 0.0F, 12000}}})
    CHECK(Sgd::parse(sgd.describe()) == sgd);
  for (const char* text : {"", "learning_rate=", "learning_rate=0.050", "rate=0.05", "learning_rate=0.05 momentum=0.9"})
    CHECK_FALSE(Sgd::parse(text));
}
