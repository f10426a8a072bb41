// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/dtype.hpp>

#include "support/catch.hpp"

using distrib::DType;

TEST_CASE("DType: TensorFlow's numbers, names and sizes", "[core]") {
  struct Row {
    DType dtype;
    int number;
    std::string_view name;
    std::size_t size;
  };
  const Row rows[] = {
      {DType::float32, 1, "float32", 4},    {DType::float64, 2, "float64", 8}, {DType::int32, 3, "int32", 4},
      {DType::uint8, 4, "uint8", 1},        {DType::int16, 5, "int16", 2},     {DType::int8, 6, "int8", 1},
      {DType::string, 7, "string", 0},      {DType::int64, 9, "int64", 8},     {DType::boolean, 10, "bool", 1},
      {DType::bfloat16, 14, "bfloat16", 2}, {DType::uint16, 17, "uint16", 2},  {DType::float16, 19, "float16", 2},
      {DType::uint32, 22, "uint32", 4},     {DType::uint64, 23, "uint64", 8},
  };
  for (const Row& row : rows) {
    CAPTURE(row.number);
    CHECK(static_cast<int>(row.dtype) == row.number);
    CHECK(name(row.dtype) == row.name);
    CHECK(size_bytes(row.dtype) == row.size);
  }
}

TEST_CASE("DType: numbers from outside that are no DType have the name unknown and size 0", "[core]") {
  for (const int number : {0, 8, 11, 99, 255}) {
    CHECK(name(static_cast<DType>(number)) == "unknown");
    CHECK(size_bytes(static_cast<DType>(number)) == 0);
  }
}

TEST_CASE("dtype_of: the DType of a C++ type has the size of that type", "[core]") {
  const auto fits = []<class T>(T) { return size_bytes(distrib::detail::dtype_of<T>) == sizeof(T); };
  CHECK(fits(float{}));
  CHECK(fits(double{}));
  CHECK(fits(std::int8_t{}));
  CHECK(fits(std::int16_t{}));
  CHECK(fits(std::int32_t{}));
  CHECK(fits(std::int64_t{}));
  CHECK(fits(std::uint8_t{}));
  CHECK(fits(std::uint16_t{}));
  CHECK(fits(std::uint32_t{}));
  CHECK(fits(std::uint64_t{}));
  CHECK(fits(bool{}));
  CHECK(distrib::detail::dtype_of<float> == DType::float32);
  CHECK(distrib::detail::dtype_of<bool> == DType::boolean);
}
