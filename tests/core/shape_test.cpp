// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/shape.hpp>

#include "support/catch.hpp"

#include <vector>

using distrib::Shape;

static_assert(Shape{}.rank() == 0);
static_assert(Shape{}.elements() == 1);
static_assert(Shape{784, 128}.elements() == 100352);

TEST_CASE("Shape: extents, elements, text", "[core]") {
  struct Row {
    Shape shape;
    std::size_t rank;
    std::int64_t elements;
    std::string text;
  };
  const Row rows[] = {
      {{}, 0, 1, "[]"},
      {{7}, 1, 7, "[7]"},
      {{784, 128}, 2, 100352, "[784,128]"},
      {{3, 0, 5}, 3, 0, "[3,0,5]"},
      {{1, 2, 1, 2, 1, 2, 1, 2}, 8, 16, "[1,2,1,2,1,2,1,2]"},
  };
  for (const Row& row : rows) {
    CHECK(row.shape.rank() == row.rank);
    CHECK(row.shape.extents().size() == row.rank);
    CHECK(row.shape.elements() == row.elements);
    CHECK(to_string(row.shape) == row.text);
  }
  CHECK(Shape{4, 5}[0] == 4);
  CHECK(Shape{4, 5}[1] == 5);
}

TEST_CASE("Shape: compared by value", "[core]") {
  CHECK(Shape{2, 3} == Shape{2, 3});
  CHECK(Shape{2, 3} != Shape{3, 2});
  CHECK(Shape{} != Shape{0});
  CHECK(Shape{2} != Shape{2, 0});
  const std::vector<std::int64_t> extents{2, 3};
  CHECK(Shape{std::span<const std::int64_t>{extents}} == Shape{2, 3});
}

TEST_CASE("Shape::valid: checks extents from outside", "[core]") {
  const auto valid = [](std::vector<std::int64_t> extents) { return Shape::valid(extents); };
  CHECK(valid({}));
  CHECK(valid({0}));
  CHECK(valid({0, std::int64_t{1} << 60}));
  CHECK(valid({std::int64_t{1} << 31, std::int64_t{1} << 30}));
  CHECK(valid(std::vector<std::int64_t>(8, 1)));
  CHECK_FALSE(valid(std::vector<std::int64_t>(9, 1)));
  CHECK_FALSE(valid({-1}));
  CHECK_FALSE(valid({4, -1}));
  CHECK_FALSE(valid({std::int64_t{1} << 32, std::int64_t{1} << 31}));
  // must not overflow in any order of the factors
  CHECK_FALSE(valid({std::int64_t{1} << 40, 0, std::int64_t{1} << 40}));
  CHECK_FALSE(valid({INT64_MAX}));
}

TEST_CASE("parse_shape: the inverse of to_string", "[core]") {
  for (const Shape& shape : {Shape{}, Shape{7}, Shape{784, 128}, Shape{3, 0, 5}, Shape{1, 2, 1, 2, 1, 2, 1, 2}})
    CHECK(distrib::detail::parse_shape(to_string(shape)) == shape);
}

TEST_CASE("parse_shape: refuses every other text", "[core]") {
  for (const char* text : {"",
                           "[",
                           "]",
                           "7",
                           "[7",
                           "7]",
                           "[7,]",
                           "[,7]",
                           "[7,,7]",
                           "[07]",
                           "[+7]",
                           "[-1]",
                           "[-0]",
                           "[7 ]",
                           "[ 7]",
                           "[7]x",
                           "(7)",
                           "[a]",
                           "[1.0]",
                           "[1,1,1,1,1,1,1,1,1]",
                           "[9223372036854775808]",
                           "[4294967296,2147483648]",
                           "[9223372036854775807]",
                           "[,]",
                           "[[7]]"}) {
    CAPTURE(text);
    CHECK_FALSE(distrib::detail::parse_shape(text));
  }
}
