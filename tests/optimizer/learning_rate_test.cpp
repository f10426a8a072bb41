// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/learning_rate.hpp>

#include "support/catch.hpp"

#include <concepts>
#include <limits>

using distrib::Constant;
using distrib::LearningRate;
using distrib::Linear;

static_assert(std::regular<LearningRate>);

TEST_CASE("LearningRate: the rate of each update", "[optimizer]") {
  constexpr std::uint64_t last = std::numeric_limits<std::uint64_t>::max();
  struct Row {
    LearningRate rate;
    std::uint64_t count;
    float expected;
  };
  const Linear falling{.first = 0.5F, .last = 0.25F, .steps = 8};
  const Row rows[] = {
      {0.05F, 1, 0.05F},
      {Constant{0.05F}, last, 0.05F},
      {falling, 0, 0.5F},  // updates are counted from 1; before them nothing has moved
      {falling, 1, 0.5F},
      {falling, 2, 0.46875F},
      {falling, 5, 0.375F},
      {falling, 8, 0.28125F},
      {falling, 9, 0.25F},
      {falling, 10, 0.25F},
      {falling, last, 0.25F},
      {Linear{.first = 0.25F, .last = 0.5F, .steps = 2}, 2, 0.375F},  // rising
      {Linear{.first = 1.0F, .last = 2.0F, .steps = 1}, 1, 1.0F},
      {Linear{.first = 1.0F, .last = 2.0F, .steps = 0}, 1, 2.0F},  // no steps: there already
      {Linear{.first = 0.02F, .last = 0.0F, .steps = 12000}, 6001, 0.01F},
      {Linear{.first = 1.0F, .last = 0.0F, .steps = last}, last / 2 + 2, 0.5F},
  };
  for (const Row& row : rows) {
    CAPTURE(row.rate.describe(), row.count);
    CHECK(row.rate.at(row.count) == row.expected);
  }
}

TEST_CASE("LearningRate: equal texts are equal rates", "[optimizer]") {
  struct Row {
    LearningRate rate;
    std::string text;
  };
  const Row rows[] = {
      {{}, "0.01"},
      {0.05F, "0.05"},
      {Constant{0.05F}, "0.05"},
      {1e-8F, "1e-08"},
      {Linear{.first = 0.02F, .last = 0.0F, .steps = 12000}, "linear(0.02,0,12000)"},
      {Linear{.first = 0.02F, .last = 1e-5F, .steps = 12000}, "linear(0.02,1e-05,12000)"},
      {Linear{.first = 0.02F, .last = 0.0F, .steps = 12001}, "linear(0.02,0,12001)"},
  };
  for (const Row& row : rows) {
    CHECK(row.rate.describe() == row.text);
    for (const Row& other : rows) CHECK((row.rate == other.rate) == (row.text == other.text));
  }
}
