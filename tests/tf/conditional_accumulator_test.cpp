// SPDX-License-Identifier: Apache-2.0
#include <distrib/tf/conditional_accumulator.hpp>

#include "support/catch.hpp"

#include <limits>

using distrib::ConditionalAccumulator;
using distrib::GradientTaken;
using distrib::ps_errc;
using distrib::Reduction;
using distrib::Step;
using Floats = std::vector<float>;

namespace {

/// Records takes, with a copy of their values.
struct Takes {
  struct Take {
    std::uint64_t id;
    Step step;
    std::uint64_t count;
    Floats values;
    auto operator==(const Take&) const -> bool = default;
  };
  std::vector<Take> list;

  void operator()(const GradientTaken& taken) {
    list.push_back({taken.take, taken.step, taken.count, {taken.values.begin(), taken.values.end()}});
  }
};

}  // namespace

TEST_CASE("ConditionalAccumulator: the mean of all counted gradients, which may be more than required", "[ps]") {
  ConditionalAccumulator accumulator{1};
  Takes takes;
  CHECK(accumulator.apply(0, Floats{1}, takes));
  CHECK(accumulator.apply(0, Floats{2}, takes));
  CHECK(accumulator.apply(0, Floats{6}, takes));
  CHECK(accumulator.count() == 3);
  CHECK(takes.list.empty());
  accumulator.take(40, 2, takes);
  REQUIRE(takes.list.size() == 1);
  CHECK(takes.list[0] == Takes::Take{40, 1, 3, {3}});
  CHECK(accumulator.count() == 0);
  CHECK(accumulator.global_step() == 1);
}

TEST_CASE("ConditionalAccumulator: the sum of all counted gradients", "[ps]") {
  ConditionalAccumulator accumulator{{}, Reduction::sum};
  Takes takes;
  accumulator.apply(0, Floats{1, 2}, takes);
  accumulator.apply(0, Floats{3, 6}, takes);
  accumulator.take(0, 2, takes);
  REQUIRE(takes.list.size() == 1);
  CHECK(takes.list[0].values == Floats{4, 8});
}

TEST_CASE("ConditionalAccumulator: drops gradients of old steps, but not of later steps", "[ps]") {
  ConditionalAccumulator accumulator{1};
  Takes takes;
  CHECK(accumulator.apply(7, Floats{4}, takes));
  accumulator.take(0, 1, takes);
  CHECK_FALSE(accumulator.apply(0, Floats{100}, takes));
  CHECK_FALSE(accumulator.apply(0, Floats{100, 200}, takes));  // a stale gradient is not checked
  CHECK(accumulator.dropped() == 2);
  CHECK(accumulator.count() == 0);
  CHECK(accumulator.apply(1, Floats{5}, takes));
  accumulator.take(1, 1, takes);
  CHECK(takes.list == std::vector<Takes::Take>{{0, 1, 1, {4}}, {1, 2, 1, {5}}});
}

TEST_CASE("ConditionalAccumulator: takes wait, and are served in the order of the calls", "[ps]") {
  ConditionalAccumulator accumulator;
  Takes takes;
  accumulator.take(10, 2, takes);
  accumulator.take(11, 1, takes);
  accumulator.apply(9, Floats{1}, takes);
  CHECK(takes.list.empty());  // there are enough gradients for the second take, but the first is served first
  CHECK(accumulator.waiting() == 2);
  accumulator.apply(9, Floats{3}, takes);
  CHECK(takes.list == std::vector<Takes::Take>{{10, 1, 2, {2}}});  // for the second take the count begins at 0
  accumulator.apply(9, Floats{8}, takes);
  REQUIRE(takes.list.size() == 2);
  CHECK(takes.list[1] == Takes::Take{11, 2, 1, {8}});
  CHECK(accumulator.waiting() == 0);
}

TEST_CASE("ConditionalAccumulator: withdrawing a take may complete the next one", "[ps]") {
  ConditionalAccumulator accumulator;
  Takes takes;
  accumulator.take(10, 3, takes);
  accumulator.take(11, 1, takes);
  accumulator.apply(0, Floats{5}, takes);
  CHECK_FALSE(accumulator.cancel(12, takes));
  CHECK(takes.list.empty());
  CHECK(accumulator.cancel(10, takes));
  CHECK(takes.list == std::vector<Takes::Take>{{11, 1, 1, {5}}});
  CHECK_FALSE(accumulator.cancel(11, takes));
}

TEST_CASE("ConditionalAccumulator: the step can be set, also backwards", "[ps]") {
  ConditionalAccumulator accumulator;
  Takes takes;
  accumulator.apply(0, Floats{1}, takes);
  CHECK(accumulator.set_global_step(5));
  CHECK(accumulator.global_step() == 5);
  CHECK_FALSE(accumulator.apply(4, Floats{9}, takes));
  CHECK_FALSE(accumulator.set_global_step(3));
  CHECK(accumulator.apply(4, Floats{3}, takes));
  accumulator.take(0, 2, takes);
  CHECK(takes.list == std::vector<Takes::Take>{{0, 4, 2, {2}}});  // counted gradients stayed counted
}

TEST_CASE("ConditionalAccumulator: refuses gradients of another size", "[ps]") {
  Takes takes;
  std::error_code ec;
  ConditionalAccumulator known{2};
  CHECK_FALSE(known.apply(0, Floats{1}, takes, ec));
  CHECK(ec == ps_errc::shape_mismatch);
  CHECK(ec == distrib::failure::invalid_argument);
  CHECK(known.count() == 0);
  CHECK(known.apply(0, Floats{1, 2}, takes, ec));
  CHECK_FALSE(ec);
  CHECK_THROWS_WITH(known.apply(0, Floats{1, 2, 3}, takes), ContainsSubstring("a gradient of 3 elements: "));

  ConditionalAccumulator open;
  CHECK(open.apply(0, Floats{1}, takes, ec));
  CHECK_FALSE(open.apply(0, Floats{1, 2}, takes, ec));
  CHECK(ec == ps_errc::shape_mismatch);
  open.take(0, 1, takes);
  CHECK(open.apply(1, Floats{1, 2}, takes, ec));  // after a take the size may change
  CHECK_FALSE(ec);
}

TEST_CASE("ConditionalAccumulator: num_required must be positive", "[ps]") {
  ConditionalAccumulator accumulator;
  Takes takes;
  for (const std::int64_t required : {std::int64_t{0}, std::int64_t{-1}, std::numeric_limits<std::int64_t>::min()}) {
    std::error_code ec;
    accumulator.take(0, required, takes, ec);
    CHECK(ec == ps_errc::not_positive);
    CHECK(accumulator.waiting() == 0);
    CHECK_THROWS_WITH(accumulator.take(0, required, takes), ContainsSubstring("num_required, "));
  }
}
