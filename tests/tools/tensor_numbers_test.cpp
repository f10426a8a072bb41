// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/tensor_numbers.hpp"

#include "tools/distrib/json_values.hpp"

#include "support/catch.hpp"

#include <cstddef>
#include <cstdint>
#include <limits>
#include <span>
#include <string>
#include <vector>

using distrib::DType;

namespace {

struct Read {
  std::vector<double> numbers;
  std::string texts;
};

template <class T> auto read(DType dtype, const std::vector<T>& values) -> Read {
  Read read;
  tools::for_each_number(dtype, distrib::ByteView{std::as_bytes(std::span{values})}, [&](auto number) {
    read.numbers.push_back(static_cast<double>(number));
    read.texts += tools::number_text(number) + " ";
  });
  return read;
}

}  // namespace

TEST_CASE("for_each_number: every type", "[tools]") {
  CHECK(read<float>(DType::float32, {0.1F, -2}).texts == "0.1 -2 ");
  CHECK(read<double>(DType::float64, {0.1, 1e300}).texts == "0.1 1e+300 ");
  CHECK(read<std::uint16_t>(DType::float16, {0x3C00, 0xC000}).texts == "1 -2 ");
  CHECK(read<std::uint16_t>(DType::bfloat16, {0x3F80, 0xC000}).texts == "1 -2 ");
  CHECK(read<std::int8_t>(DType::int8, {-128, 7}).texts == "-128 7 ");
  CHECK(read<std::uint8_t>(DType::uint8, {255}).texts == "255 ");
  CHECK(read<std::uint8_t>(DType::boolean, {0, 1}).texts == "0 1 ");
  CHECK(read<std::int16_t>(DType::int16, {-3}).texts == "-3 ");
  CHECK(read<std::uint16_t>(DType::uint16, {65535}).texts == "65535 ");
  CHECK(read<std::int32_t>(DType::int32, {-4}).texts == "-4 ");
  CHECK(read<std::uint32_t>(DType::uint32, {4'000'000'000}).texts == "4000000000 ");
  CHECK(read<std::int64_t>(DType::int64, {std::numeric_limits<std::int64_t>::min()}).texts == "-9223372036854775808 ");
  CHECK(read<std::uint64_t>(DType::uint64, {std::numeric_limits<std::uint64_t>::max()}).texts ==
        "18446744073709551615 ");
  CHECK(read<char>(DType::string, {'a'}).numbers.empty());
  CHECK(read<float>(static_cast<DType>(8), {1}).numbers.empty());  // a complex type
}

TEST_CASE("for_each_number: numbers that are not finite", "[tools]") {
  const float infinity = std::numeric_limits<float>::infinity();
  CHECK(read<float>(DType::float32, {infinity, -infinity, std::numeric_limits<float>::quiet_NaN()}).texts ==
        "Infinity -Infinity NaN ");
}
