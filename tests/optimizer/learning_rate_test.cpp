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
      {falling, 0, 0.5F},  // updates count from 1; before the first one the rate is `first`
      {falling, 1, 0.5F},
      {falling, 2, 0.46875F},
      {falling, 5, 0.375F},
      {falling, 8, 0.28125F},
      {falling, 9, 0.25F},
      {falling, 10, 0.25F},
      {falling, last, 0.25F},
      {Linear{.first = 0.25F, .last = 0.5F, .steps = 2}, 2, 0.375F},  // rising
      {Linear{.first = 1.0F, .last = 2.0F, .steps = 1}, 1, 1.0F},
      {Linear{.first = 1.0F, .last = 2.0F, .steps = 0}, 1, 2.0F},  // 0 steps: the last rate at once
      {Linear{.first = 0.02F, .last = 0.0F, .steps = 12000}, 6001, 0.01F},
      {Linear{.first = 1.0F, .last = 0.0F, .steps = last}, last / 2 + 2, 0.5F},
  };
  for (const Row& row : rows) {
    CAPTURE(row.rate.describe(), row.count);
    CHECK(row.rate.at(row.count) == row.expected);
  }
}

TEST_CASE("LearningRate: equal texts mean equal rates", "[optimizer]") {
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

TEST_CASE("LearningRate: parse is the opposite of describe()", "[optimizer]") {
  for (const LearningRate& rate : {LearningRate{}, LearningRate{1e-8F}, LearningRate{Linear{0.02F, 1e-5F, 12000}},
                                   LearningRate{Linear{-1.0F, 0.0F, std::numeric_limits<std::uint64_t>::max()}}})
    CHECK(LearningRate::parse(rate.describe()) == rate);
  CHECK(Constant::parse("0.05") == Constant{0.05F});
  CHECK(Linear::parse("linear(0.02,0,12000)") == Linear{0.02F, 0.0F, 12000});

  for (const char* text : {"",
                           "0.050",
                           " 0.05",
                           "0.05 ",
                           "5e-02",
                           "1e99",
                           "x",
                           "linear",
                           "linear()",
                           "linear(1,2)",
                           "linear(1,2,3",
                           "linear(1,2,3))",
                           "linear(1,2,-3)",
                           "linear(1,2,3.5)",
                           "linear(1, 2,3)",
                           "linear(1,2,3,4)",
                           "linear(1,2,18446744073709551616)",
                           "Linear(1,2,3)",
                           "cosine(1,2,3)",
                           "(1,2,3)",
                           "linear(1.0,2,3)"}) {
    CAPTURE(text);
    CHECK_FALSE(LearningRate::parse(text));
  }
}
