// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/learning_rate.hpp>

#include <distrib/optimizer/sgd.hpp>

#include "optimizer/torch_values.hpp"
#include "support/catch.hpp"

#include <algorithm>
#include <cmath>
#include <concepts>
#include <cstdint>
#include <functional>
#include <limits>
#include <numbers>
#include <string>
#include <system_error>
#include <vector>

using distrib::Constant;
using distrib::CosineDecay;
using distrib::ExponentialDecay;
using distrib::LearningRate;
using distrib::Linear;
using distrib::MultiStepDecay;
using distrib::OneCycle;
using distrib::StepDecay;
using distrib::WarmUp;

static_assert(std::regular<LearningRate>);

namespace {

/// Checks the rates of all updates up to `updates`, and of the one before the first, with a formula of PyTorch's: a
/// function of the number of updates before. The formula is computed with libm.
void check_formula(const LearningRate& rate, std::uint64_t updates, const std::function<double(double)>& formula) {
  CAPTURE(rate.describe());
  CHECK(rate.at(0) == rate.at(1));
  for (std::uint64_t count = 1; count <= updates; ++count) {
    CAPTURE(count);
    const double expected = formula(static_cast<double>(count - 1));
    const double found = static_cast<double>(rate.at(count));
    CHECK(std::abs(found - expected) <= 1e-7 * std::abs(expected));
  }
}

auto checked_rate(const LearningRate& rate) -> std::error_code {
  std::error_code ec;
  rate.check(ec);
  return ec;
}

const double first_rate = static_cast<double>(0.1F);

}  // namespace

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

TEST_CASE("StepDecay: first * factor^(n / every), as StepLR", "[optimizer]") {
  check_formula(StepDecay{.first = 0.1F, .factor = 0.3, .every = 7}, 40,
                [](double n) { return first_rate * std::pow(0.3, std::floor(n / 7)); });
  CHECK(LearningRate{StepDecay{.first = 0.5F, .factor = 0.5, .every = 3}}.at(3) == 0.5F);
  CHECK(LearningRate{StepDecay{.first = 0.5F, .factor = 0.5, .every = 3}}.at(4) == 0.25F);
  CHECK(checked_rate(StepDecay{.every = 1}) == std::error_code{});
  CHECK(checked_rate(StepDecay{.every = 0}) == distrib::optimizer_errc::bad_schedule);
}

TEST_CASE("MultiStepDecay: first * factor^(milestones passed), as MultiStepLR", "[optimizer]") {
  check_formula(MultiStepDecay{.first = 0.1F, .factor = 0.5, .milestones = {5, 6, 20}}, 30, [](double n) {
    return first_rate * std::pow(0.5, (n >= 5 ? 1 : 0) + (n >= 6 ? 1 : 0) + (n >= 20 ? 1 : 0));
  });
  CHECK(LearningRate{MultiStepDecay{.first = 0.5F}}.at(1000) == 0.5F);
  CHECK(checked_rate(MultiStepDecay{.milestones = {1, 2}}) == std::error_code{});
  CHECK(checked_rate(MultiStepDecay{.milestones = {2, 2}}) == distrib::optimizer_errc::bad_schedule);
  CHECK(checked_rate(MultiStepDecay{.milestones = {2, 1}}) == distrib::optimizer_errc::bad_schedule);
}

TEST_CASE("ExponentialDecay: first * factor^n, as ExponentialLR", "[optimizer]") {
  check_formula(ExponentialDecay{.first = 0.1F, .factor = 0.9}, 100,
                [](double n) { return first_rate * std::pow(0.9, n); });
  // The factor is a double: as a float it would be off by a thousandth after so many updates.
  const ExponentialDecay slow{.first = 1.0F, .factor = 0.99999};
  CHECK(static_cast<double>(slow.at(300'001)) == Approx(std::pow(0.99999, 300'000)).epsilon(1e-7));
}

TEST_CASE("CosineDecay: half a cosine wave, as CosineAnnealingLR, then the last rate", "[optimizer]") {
  const double last = static_cast<double>(0.001F);
  const CosineDecay cosine{.first = 0.1F, .last = 0.001F, .steps = 50};
  check_formula(cosine, 50, [last](double n) {
    return last + (first_rate - last) * (1 + std::cos(std::numbers::pi * n / 50)) / 2;
  });
  CHECK(cosine.at(1) == 0.1F);
  CHECK(cosine.at(51) == 0.001F);
  CHECK(cosine.at(100) == 0.001F);
  CHECK(cosine.at(std::numeric_limits<std::uint64_t>::max()) == 0.001F);
  CHECK(CosineDecay{.first = 1.0F, .last = 0.0F, .steps = 2}.at(2) == 0.5F);
  CHECK(CosineDecay{.first = 1.0F, .last = 2.0F, .steps = 0}.at(1) == 2.0F);
}

TEST_CASE("OneCycle: up and down along half cosine waves, as OneCycleLR", "[optimizer]") {
  const auto wave = [](double from, double to, double part) {
    return to + (from - to) / 2 * (std::cos(std::numbers::pi * part) + 1);
  };
  const double low = first_rate / 25;
  const OneCycle cycle{.highest = 0.1F, .steps = 100};
  check_formula(cycle, 100, [&](double n) {
    return n <= 29 ? wave(low, first_rate, n / 29) : wave(first_rate, low / 1e4, (n - 29) / 70);
  });
  CHECK(cycle.at(30) == 0.1F);
  CHECK(cycle.at(101) == cycle.at(100));
  CHECK(cycle.at(1000) == cycle.at(100));
  // The top may lie between two updates, or before the first one.
  check_formula(OneCycle{.highest = 0.1F, .steps = 11, .rising = 0.25, .initial_divisor = 10, .final_divisor = 20}, 11,
                [&](double n) {
                  const double from = first_rate / 10;
                  return n <= 1.75 ? wave(from, first_rate, n / 1.75) : wave(first_rate, from / 20, (n - 1.75) / 8.25);
                });
  check_formula(OneCycle{.highest = 0.1F, .steps = 11, .rising = 0}, 11,
                [&](double n) { return wave(first_rate, low / 1e4, (n + 1) / 11); });
  CHECK(OneCycle{.highest = 0.5F, .steps = 10, .rising = 1}.at(10) == 0.5F);
  CHECK(OneCycle{.highest = 0.5F, .steps = 1, .rising = 1}.at(1) == 0.5F);

  CHECK(checked_rate(OneCycle{}) == std::error_code{});
  for (const OneCycle& bad :
       {OneCycle{.steps = 0}, OneCycle{.rising = -0.1}, OneCycle{.rising = 1.1}, OneCycle{.rising = std::nan("")},
        OneCycle{.initial_divisor = 0}, OneCycle{.final_divisor = -1}})
    CHECK(checked_rate(bad) == distrib::optimizer_errc::bad_schedule);
}

TEST_CASE("WarmUp: in front of any other schedule, as LinearLR in a SequentialLR", "[optimizer]") {
  check_formula(WarmUp{.steps = 8, .start = 0.25, .then = Constant{0.1F}}, 20,
                [](double n) { return n < 8 ? first_rate * (0.25 + 0.75 * n / 8) : first_rate; });
  check_formula(WarmUp{.steps = 5, .start = 0, .then = CosineDecay{.first = 0.1F, .last = 0.0F, .steps = 20}}, 25,
                [](double n) {
                  return n < 5 ? first_rate * n / 5 : first_rate * (1 + std::cos(std::numbers::pi * (n - 5) / 20)) / 2;
                });
  CHECK(LearningRate{WarmUp{.steps = 0, .then = Linear{0.5F, 0.25F, 8}}}.at(1) == 0.5F);
  CHECK(checked_rate(WarmUp{.then = StepDecay{.every = 1}}) == std::error_code{});
  CHECK(checked_rate(WarmUp{.then = StepDecay{.every = 0}}) == distrib::optimizer_errc::bad_schedule);
}

TEST_CASE("LearningRate: agrees with PyTorch's schedulers", "[optimizer]") {
  int schedules = 0;
  for (const auto& [headline, results] : reference::torch_results()) {
    if (!headline.starts_with("schedule ")) continue;
    CAPTURE(headline);
    const auto rate = LearningRate::parse(headline.substr(headline.find(' ') + 1));
    REQUIRE(rate);
    REQUIRE(results.size() == 1);
    for (std::size_t i = 0; i < results[0].size(); ++i) {
      CAPTURE(i);
      CHECK(static_cast<double>(rate->at(i + 1)) == Approx(results[0][i]).epsilon(1e-6).margin(1e-12));
    }
    ++schedules;
  }
  CHECK(schedules == 9);
}

TEST_CASE("LearningRate: each schedule has a text of its own, which parse reads", "[optimizer]") {
  struct Row {
    LearningRate rate;
    std::string text;
  };
  const Row rows[] = {
      {StepDecay{.first = 0.1F, .factor = 0.3, .every = 7}, "step_decay(0.1,0.3,7)"},
      {MultiStepDecay{.first = 0.1F, .factor = 0.3}, "multi_step_decay(0.1,0.3)"},
      {MultiStepDecay{.first = 0.1F, .factor = 0.3, .milestones = {5, 60}}, "multi_step_decay(0.1,0.3,5,60)"},
      {ExponentialDecay{.first = 0.1F, .factor = 0.99}, "exponential_decay(0.1,0.99)"},
      {CosineDecay{.first = 0.1F, .last = 1e-5F, .steps = 90}, "cosine_decay(0.1,1e-05,90)"},
      {OneCycle{.highest = 0.1F, .steps = 90}, "one_cycle(0.1,90,0.3,25,10000)"},
      {WarmUp{.steps = 9}, "warm_up(9,0.3333333333333333,0.01)"},
      {WarmUp{.steps = 9, .start = 0.1, .then = MultiStepDecay{0.1F, 0.5, {7}}},
       "warm_up(9,0.1,multi_step_decay(0.1,0.5,7))"},
  };
  for (const Row& row : rows) {
    CHECK(row.rate.describe() == row.text);
    REQUIRE(LearningRate::parse(row.text));
    for (const Row& other : rows) {
      CHECK((row.rate == other.rate) == (row.text == other.text));
      CHECK((LearningRate::parse(other.text) == row.rate) == (row.text == other.text));
    }
  }
  for (const char* text : {"step_decay(0.1,0.3)",
                           "step_decay(0.1,0.3,7,8)",
                           "step_decay(0.1,0.30,7)",
                           "step_decay(0.1,0.3,-7)",
                           "multi_step_decay(0.1)",
                           "multi_step_decay(0.1,0.3,)",
                           "multi_step_decay(0.1,0.3,5,)",
                           "multi_step_decay(0.1,0.3,5,6.5)",
                           "multi_step_decay()",
                           "exponential_decay(0.1)",
                           "exponential_decay(0.1,0.99))",
                           "cosine_decay(0.1,1e-5,90)",
                           "cosine_decay(0.1,1e-05,90",
                           "one_cycle(0.1,90,0.3,25)",
                           "one_cycle(0.1,90,.3,25,10000)",
                           "warm_up(9,0.1)",
                           "warm_up(9,0.1,)",
                           "warm_up(9,0.1,0.01",
                           "warm_up(9,0.1,0.010)",
                           "warm_up(9,0.1,warm_up(9,0.1,0.01))",
                           "warm_up(-9,0.1,0.01)",
                           "(9,0.1,0.01)"}) {
    CAPTURE(text);
    CHECK_FALSE(LearningRate::parse(text));
  }
}

TEST_CASE("LearningRate: an updater whose schedule cannot be computed is refused", "[optimizer]") {
  const distrib::Sgd bad{.learning_rate = StepDecay{.every = 0}};
  std::error_code ec;
  distrib::detail::check_updater(bad, ec);
  CHECK(ec == distrib::optimizer_errc::bad_schedule);
  CHECK_THROWS_WITH(distrib::detail::check_updater(bad), ContainsSubstring("sgd learning_rate=step_decay(0.01,0.1,0)"));
  distrib::detail::check_updater(distrib::Sgd{.learning_rate = StepDecay{}}, ec);
  CHECK_FALSE(ec);
}

TEST_CASE("half_cosine: (1 + cos(pi * x)) / 2, also exact to the last places near 1", "[optimizer]") {
  CHECK(distrib::detail::half_cosine(0) == 1.0);
  CHECK(distrib::detail::half_cosine(1) == 0.0);
  long double worst = 0;
  const auto compare = [&worst](double x) {
    const long double half_pi = std::numbers::pi_v<long double> / 2;
    const long double root = x <= 0.5 ? std::cos(half_pi * static_cast<long double>(x))
                                      : std::sin(half_pi * (1 - static_cast<long double>(x)));
    const long double expected = root * root;
    worst = std::max(worst, std::abs(static_cast<long double>(distrib::detail::half_cosine(x)) - expected) / expected);
  };
  for (int i = 0; i < 100'003; ++i) compare(i / 100'003.0);
  for (int i = 1; i <= 52; ++i) {
    compare(std::ldexp(1.0, -i));
    compare(1 - std::ldexp(1.0, -i));
  }
  CHECK(worst < 1e-15L);
}
