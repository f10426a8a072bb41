// SPDX-License-Identifier: Apache-2.0
#include <distrib/placement/function.hpp>

#include "support/catch.hpp"

using distrib::FunctionStrategy;
using distrib::PlacementRequest;

TEST_CASE("FunctionStrategy: the function decides and may have state", "[placement]") {
  FunctionStrategy strategy{[next = 0](const PlacementRequest& request, std::uint32_t num_tasks) mutable {
    return request.name == "step" ? num_tasks - 1 : static_cast<std::uint32_t>(next++);
  }};
  static_assert(distrib::PlacementStrategy<decltype(strategy)>);
  CHECK(strategy.place({"step"}, 4) == 3);
  CHECK(strategy.place({"w"}, 4) == 0);
  auto copy = strategy;
  CHECK(strategy.place({"b"}, 4) == 1);
  CHECK(copy.place({"b"}, 4) == 1);
}

TEST_CASE("FunctionStrategy: the function may return any integer; a number that is no task stays invalid",
          "[placement]") {
  const auto answer = [](auto number) {
    return FunctionStrategy{[number](const PlacementRequest&, std::uint32_t) { return number; }}.place({"w"}, 2);
  };
  CHECK(answer(true) == 1);
  CHECK(answer(1) == 1);
  CHECK(answer(2) == 2);
  CHECK(answer(-1) == 2);
  CHECK(answer(std::int64_t{1} << 32) == 2);
  CHECK(answer(~std::uint64_t{0}) == 2);
}
