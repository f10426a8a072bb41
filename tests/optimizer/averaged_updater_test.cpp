// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/averaged_updater.hpp>

#include <distrib/optimizer/adagrad.hpp>
#include <distrib/optimizer/adam.hpp>
#include <distrib/optimizer/error.hpp>
#include <distrib/optimizer/momentum.hpp>
#include <distrib/optimizer/sgd.hpp>
#include <distrib/optimizer/updater_list.hpp>

#include "optimizer/reference.hpp"
#include "support/catch.hpp"

#include <array>
#include <span>
#include <string>
#include <system_error>
#include <vector>

using distrib::AnyUpdater;
using distrib::averaged;
using distrib::Momentum;
using distrib::MovingAverage;
using distrib::StandardUpdaters;

TEST_CASE("averaged: updates as the updater does, then the average of the values", "[optimizer]") {
  constexpr std::size_t size = 21;
  const Momentum momentum{.learning_rate = 0.1F, .momentum = 0.5F};
  const MovingAverage average{.decay = 0.75F, .warm_up = true};
  const AnyUpdater both = averaged(momentum, average);
  std::vector<float> values = reference::numbers(size, 1);
  std::vector<float> expected = values;
  std::vector<float> averages = values;
  std::vector<float> expected_averages = values;
  std::vector<float> slot(size);
  std::vector<float> expected_slot(size);
  std::vector<float> row = values;  // the same as one row of a table
  row.resize(2 * size);
  row.insert(row.end(), values.begin(), values.end());
  for (std::uint64_t count = 1; count <= 5; ++count) {
    const std::vector<float> gradient = reference::numbers(size, static_cast<std::uint32_t>(10 + count));
    const std::array<std::span<float>, 1> expected_slots{expected_slot};
    momentum.apply({count}, gradient, expected, expected, expected_slots);
    average.update(expected_averages, expected, count);
    const std::array<std::span<float>, 2> slots{slot, averages};
    std::vector<float> to(size);
    both.apply({count}, gradient, values, count % 2 == 0 ? values : to, slots);
    if (count % 2 != 0) values = to;
    float* const rows[] = {row.data()};
    both.apply_rows({count}, {.dim = size, .rows = rows, .gradients = gradient});
    CHECK(values == expected);
    CHECK(slot == expected_slot);
    CHECK(averages == expected_averages);
    std::vector<float> all = values;
    all.insert(all.end(), slot.begin(), slot.end());
    all.insert(all.end(), averages.begin(), averages.end());
    CHECK(row == all);
  }
}

TEST_CASE("averaged: one more slot, which begins as the values", "[optimizer]") {
  const AnyUpdater both = averaged(Momentum{}, {});
  REQUIRE(both.slots().size() == 2);
  CHECK(both.slots()[0] == Momentum{}.slots()[0]);
  CHECK(both.slots()[1].name == "ExponentialMovingAverage");
  CHECK(both.slots()[1].begins_as_value);
  CHECK_FALSE(both.slots()[0].begins_as_value);
  CHECK_FALSE(both.updates_every_row());
  CHECK(averaged(distrib::Adam{}, {}).updates_every_row());
}

TEST_CASE("averaged: its text is found by a list, and by itself", "[optimizer]") {
  for (const std::string text :
       {"moving_average decay=0.999 sgd learning_rate=0.05",
        "moving_average decay=0.5 warm_up=true momentum learning_rate=0.05 momentum=0.9 use_nesterov=false"}) {
    const auto found = StandardUpdaters{}(text);
    REQUIRE(found);
    CHECK(found->text() == text);
    const auto again = found->parse(text);
    REQUIRE(again);
    CHECK(again->text() == text);
  }
  CHECK(averaged(distrib::Sgd{.learning_rate = 0.05F}, {.decay = 0.5F}).text() ==
        "moving_average decay=0.5 sgd learning_rate=0.05");
  // It also parses the text of the updater alone, because a parameter server may be started with an average, and the
  // job may have none.
  const auto alone = averaged(distrib::Sgd{}, {}).parse("sgd learning_rate=0.05");
  REQUIRE(alone);
  CHECK(alone->text() == "sgd learning_rate=0.05");
}

TEST_CASE("averaged: every other text is refused", "[optimizer]") {
  for (const char* text :
       {"moving_average", "moving_average ", "moving_average decay=0.999", "moving_average decay=0.999 ",
        "moving_average decay=0.999 unknown", "moving_average decay=1 sgd learning_rate=0.05",
        "moving_average decay=-0.5 sgd learning_rate=0.05", "moving_average decay=nan sgd learning_rate=0.05",
        "moving_average decay=0.50 sgd learning_rate=0.05", "moving_average rate=0.5 sgd learning_rate=0.05",
        "moving_average decay=0.5 warm_up=false sgd learning_rate=0.05", "moving_average decay=0.5 warm_up=true",
        "moving_average decay=0.5  sgd learning_rate=0.05", "moving_average decay=0.5 sgd learning_rate=0.050",
        "moving_average decay=0.5 moving_average decay=0.5 sgd learning_rate=0.05",
        "Moving_average decay=0.5 sgd learning_rate=0.05"}) {
    CAPTURE(text);
    CHECK_FALSE(StandardUpdaters{}(text));
  }
}

TEST_CASE("averaged: can be trained with if the updater and the average can", "[optimizer]") {
  const auto checked = [](const AnyUpdater& updater) {
    std::error_code ec;
    updater.check(ec);
    return ec;
  };
  CHECK_FALSE(checked(averaged(distrib::Adagrad{}, {})));
  CHECK(checked(averaged(distrib::Adagrad{.initial_accumulator_value = 0}, {})) ==
        distrib::optimizer_errc::accumulator_not_positive);
  CHECK(checked(averaged(distrib::Adagrad{}, {.decay = 1})) == distrib::optimizer_errc::bad_decay);
}
