// SPDX-License-Identifier: Apache-2.0
#include <distrib/tensor/view.hpp>

#include "support/catch.hpp"

#include <numeric>
#include <type_traits>
#include <utility>
#include <vector>

using distrib::Shape;
using distrib::tensor_view;

namespace {

std::vector<float> counted(std::size_t elements) {
  std::vector<float> numbers(elements);
  std::iota(numbers.begin(), numbers.end(), 0.0F);
  return numbers;
}

}  // namespace

TEST_CASE("tensor_view: row-major, over memory that it does not own", "[tensor]") {
  std::vector<float> memory = counted(24);
  auto matrix = tensor_view<2>(memory.data(), Shape{4, 6});
  CHECK(matrix.shape(0) == 4);
  CHECK(matrix.shape(1) == 6);
  CHECK(matrix(0, 5) == 5.0F);
  CHECK(matrix(3, 1) == 19.0F);
  matrix(2, 2) = -1.0F;
  CHECK(memory[14] == -1.0F);
  auto cube = tensor_view<3>(memory.data(), Shape{2, 3, 4});
  CHECK(cube(1, 2, 3) == 23.0F);
  CHECK(cube(1, 0, 2) == -1.0F);
  matrix *= 2.0F;
  CHECK(memory[23] == 46.0F);
}

TEST_CASE("tensor_view: a scalar and an empty tensor", "[tensor]") {
  float number = 3;
  auto scalar = tensor_view<0>(&number, Shape{});
  CHECK(scalar.size() == 1);
  CHECK(scalar() == 3.0F);
  scalar() = 4;
  CHECK(number == 4.0F);
  auto none = tensor_view<2>(&number, Shape{0, 5});
  CHECK(none.size() == 0);
  CHECK(none.shape(1) == 5);
}

TEST_CASE("tensor_view: const memory cannot be written", "[tensor]") {
  const std::vector<float> memory = counted(6);
  const auto matrix = tensor_view<2>(memory.data(), Shape{2, 3});
  CHECK(matrix(1, 2) == 5.0F);
  CHECK(xt::xtensor<float, 1>(xt::sum(matrix, {1}))(1) == 12.0F);
  STATIC_REQUIRE(std::is_same_v<decltype(matrix(0, 0)), const float&>);
  STATIC_REQUIRE(std::is_same_v<std::remove_const_t<decltype(matrix)>, distrib::TensorView<const float, 2>>);
  STATIC_REQUIRE(!std::is_same_v<distrib::TensorView<const float, 2>, distrib::TensorView<float, 2>>);
}

TEST_CASE("tensor_view: the number of axes may be that of the shape", "[tensor]") {
  std::vector<float> memory = counted(24);
  auto cube = tensor_view(memory.data(), Shape{2, 3, 4});
  REQUIRE(cube.dimension() == 3);
  CHECK(cube.shape(1) == 3);
  CHECK(cube(1, 2, 3) == 23.0F);
  cube(1, 0, 2) = -1.0F;
  CHECK(memory[14] == -1.0F);
  auto scalar = tensor_view(memory.data(), Shape{});
  CHECK(scalar.dimension() == 0);
  CHECK(scalar.size() == 1);
  CHECK(scalar() == 0.0F);
  CHECK(tensor_view(memory.data(), Shape{0, 5}).size() == 0);
  CHECK(tensor_view(memory.data(), Shape{1, 1, 1, 1, 1, 1, 1, 24}).dimension() == Shape::max_rank);
  const auto read = tensor_view(std::as_const(memory).data(), Shape{4, 6});
  CHECK(xt::xtensor<float, 1>(xt::sum(read, {1}))(0) == 15.0F);
  STATIC_REQUIRE(std::is_same_v<decltype(read(0, 0)), const float&>);
  STATIC_REQUIRE(std::is_same_v<std::remove_const_t<decltype(read)>, distrib::RuntimeTensorView<const float>>);
}
