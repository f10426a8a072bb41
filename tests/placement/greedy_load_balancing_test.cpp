// SPDX-License-Identifier: Apache-2.0
#include <distrib/placement/greedy_load_balancing.hpp>

#include "support/catch.hpp"

#include <vector>

using distrib::byte_size_load;
using distrib::DType;
using distrib::GreedyLoadBalancingStrategy;
using distrib::PlacementRequest;
using distrib::Shape;
using distrib::unit_load;

namespace {

const auto rank_load = [](const PlacementRequest& request) { return request.shape.rank(); };
static_assert(distrib::PlacementStrategy<GreedyLoadBalancingStrategy<distrib::ByteSizeLoad>>);
static_assert(distrib::PlacementStrategy<GreedyLoadBalancingStrategy<decltype(rank_load)>>);

template <class S>
void check(S strategy, std::uint32_t num_tasks, const std::vector<Shape>& shapes,
           const std::vector<std::uint32_t>& tasks, const std::vector<double>& loads) {
  std::vector<std::uint32_t> placed;
  for (const Shape& shape : shapes) placed.push_back(strategy.place({"v", DType::float32, shape}, num_tasks));
  CHECK(placed == tasks);
  CHECK(std::vector<double>(strategy.loads().begin(), strategy.loads().end()) == loads);
}

}  // namespace

TEST_CASE("byte_size_load: number of elements times their size", "[placement]") {
  CHECK(byte_size_load({"v", DType::float32, {784, 128}}) == 401408);
  CHECK(byte_size_load({"v", DType::float64, {3}}) == 24);
  CHECK(byte_size_load({"v", DType::int8, {}}) == 1);
  CHECK(byte_size_load({"v", DType::float32, {0, 128}}) == 0);
  CHECK(byte_size_load({"v", DType::string, {5}}) == 0);
  CHECK(distrib::ByteSizeLoad{.bytes_per_string = 16}({"v", DType::string, {5}}) == 80);
}

TEST_CASE("GreedyLoadBalancingStrategy: chooses the task with the smallest load, the lowest index among equals",
          "[placement]") {
  check(GreedyLoadBalancingStrategy{unit_load}, 2, {{2, 2}, {2, 1}, {2, 2}, {1, 3}}, {0, 1, 0, 1}, {2, 2});
  check(GreedyLoadBalancingStrategy{byte_size_load}, 2, {{2, 2}, {2, 1}, {2, 2}, {1, 3}}, {0, 1, 1, 0}, {28, 24});
  check(GreedyLoadBalancingStrategy{byte_size_load}, 4, {{4}, {4}, {4}, {4}, {4}}, {0, 1, 2, 3, 0}, {32, 16, 16, 16});
  check(GreedyLoadBalancingStrategy{byte_size_load}, 3, {{0}, {}, {0}, {}}, {0, 0, 1, 1}, {4, 4, 0});
  check(GreedyLoadBalancingStrategy{rank_load}, 2, {{2, 2}, {2}, {2}, {2}}, {0, 1, 1, 0}, {3, 2});
}

TEST_CASE("GreedyLoadBalancingStrategy: with weights", "[placement]") {
  const std::vector<Shape> same(9, Shape{4});
  check(GreedyLoadBalancingStrategy{unit_load, {1, 2}}, 2, same, {0, 1, 1, 0, 1, 1, 0, 1, 1}, {3, 6});
  check(GreedyLoadBalancingStrategy{unit_load, {7, 7, 7}}, 3, same, {0, 1, 2, 0, 1, 2, 0, 1, 2}, {3, 3, 3});
  check(GreedyLoadBalancingStrategy{byte_size_load, {3, 1}}, 2, {{30}, {10}, {20}, {10}}, {0, 1, 0, 1}, {200, 80});
}

TEST_CASE("GreedyLoadBalancingStrategy: refuses weights that do not fit", "[placement]") {
  GreedyLoadBalancingStrategy two{unit_load, {1, 2}};
  CHECK_THROWS_WITH(two.place({}, 3), ContainsSubstring("2 weights for 3 tasks: one weight for each task"));
  GreedyLoadBalancingStrategy zero{unit_load, {1, 0}};
  CHECK_THROWS_WITH(zero.place({}, 2), ContainsSubstring("task 1: a weight must be at least 1"));
}

TEST_CASE("GreedyLoadBalancingStrategy: no loads before the first variable", "[placement]") {
  CHECK(GreedyLoadBalancingStrategy{byte_size_load}.loads().empty());
}
