// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/adagrad.hpp>

#include "optimizer/against_reference.hpp"

using distrib::Adagrad;
using namespace reference;

TEST_CASE("Adagrad: a += g * g; w -= rate * g / sqrt(a), each operation rounded", "[optimizer]") {
  check_updater(
      Adagrad{.learning_rate = 0.3F, .initial_accumulator_value = 0.2F},
      [](std::uint64_t, float g, float& w, auto& slots) {
        slots[0] = plus(slots[0], times(g, g));
        w = minus(w, over(times(0.3F, g), root(slots[0])));
      },
      [](std::uint64_t) { return distrib::detail::AdagradFactors{0.3F}; });
}

TEST_CASE("Adagrad: a weight decay is added to the gradient", "[optimizer]") {
  check_updater(
      Adagrad{.learning_rate = 0.3F, .initial_accumulator_value = 0.2F, .weight_decay = 0.2F},
      [](std::uint64_t, float g, float& w, auto& slots) {
        g = decayed(g, w);
        slots[0] = plus(slots[0], times(g, g));
        w = minus(w, over(times(0.3F, g), root(slots[0])));
      },
      [](std::uint64_t) { return decaying(distrib::detail::AdagradFactors{0.3F}); });
  check_weight_decay_text<Adagrad>();
}

TEST_CASE("Adagrad: agrees with TensorFlow's", "[optimizer]") {
  std::vector<float> values{1.0F, 2.0F};
  std::vector<float> sums(2, Adagrad{}.slots()[0].initial);
  const std::array<std::span<float>, 1> slots{sums};
  for (std::uint64_t count = 1; count <= 3; ++count)
    Adagrad{.learning_rate = 3.0F}.apply({count}, std::vector{0.1F, 0.1F}, values, values, slots);
  CHECK(values[0] == Approx(-1.6026098728179932).epsilon(1e-6));
  CHECK(values[1] == Approx(-0.6026098728179932).epsilon(1e-6));
}

TEST_CASE("Adagrad: its name, slots and description", "[optimizer]") {
  CHECK(Adagrad{}.describe() == "learning_rate=0.01 initial_accumulator_value=0.1");
  CHECK(Adagrad{.initial_accumulator_value = 0.5F}.slots()[0] == distrib::Slot{"Adagrad", 0.5F});
  CHECK_FALSE(distrib::detail::updates_every_row<Adagrad>);
  check_texts(
      {Adagrad{}, Adagrad{.learning_rate = distrib::Linear{0.02F, 0.0F, 12}, .initial_accumulator_value = 1.0F}});
}

TEST_CASE("Adagrad: refuses an accumulator that is not positive", "[optimizer]") {
  CHECK_FALSE(checked(Adagrad{}));
  CHECK(checked(Adagrad{.initial_accumulator_value = 0.0F}) == distrib::optimizer_errc::accumulator_not_positive);
  CHECK(checked(Adagrad{.initial_accumulator_value = -1.0F}) == distrib::optimizer_errc::accumulator_not_positive);
  CHECK_THROWS_WITH(distrib::detail::check_updater(Adagrad{.initial_accumulator_value = 0.0F}),
                    ContainsSubstring("adagrad learning_rate=0.01 initial_accumulator_value=0"));
}
