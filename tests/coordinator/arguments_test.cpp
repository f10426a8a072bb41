// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/arguments.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <string>
#include <tuple>
#include <vector>

using distrib::ByteView;
using distrib::coordinator_errc;
using distrib::PerWorker;
using distrib::PerWorkerValues;
using distrib::detail::decode_value;
using distrib::detail::encode_arguments;

namespace {

struct Shape {
  std::int32_t width = 0, height = 0;
};
using Parameters = std::tuple<int, const std::string&, std::vector<double>, Shape>;
constexpr const Parameters* parameters = nullptr;

}  // namespace

TEST_CASE("arguments: what is encoded is decoded, and every shorter or longer text is refused", "[coordinator]") {
  const auto encoded =
      encode_arguments(parameters, "f", 3, 1000, short{7}, "text", std::vector<double>{0.5, -1}, Shape{2, 3});
  REQUIRE(encoded.size() == 1);
  const ByteView bytes = encoded[0]->bytes();
  const auto decode = [](ByteView rest, std::tuple<int, std::string, std::vector<double>, Shape>& to) {
    return decode_value(rest, std::get<0>(to)) && decode_value(rest, std::get<1>(to)) &&
           decode_value(rest, std::get<2>(to)) && decode_value(rest, std::get<3>(to)) && rest.empty();
  };
  std::tuple<int, std::string, std::vector<double>, Shape> values;
  REQUIRE(decode(bytes, values));
  CHECK(std::get<0>(values) == 7);
  CHECK(std::get<1>(values) == "text");
  CHECK(std::get<2>(values) == std::vector<double>{0.5, -1});
  CHECK((std::get<3>(values).width == 2 && std::get<3>(values).height == 3));
  for (std::size_t size = 0; size < bytes.size(); ++size) CHECK_FALSE(decode(bytes.first(size), values));
}

TEST_CASE("arguments: a length beyond the end is refused before memory is taken", "[coordinator]") {
  distrib::WireWriter writer;
  writer.raw_varint(0);
  writer.raw_varint(std::uint64_t{1} << 60);
  ByteView rest = writer.view();
  std::string text;
  CHECK_FALSE(decode_value(rest, text));
  writer.clear();
  writer.raw_varint(0);
  writer.raw_varint(3);  // not a whole number of elements
  writer.raw(distrib::as_bytes("abc"));
  rest = writer.view();
  std::vector<std::int32_t> numbers;
  CHECK_FALSE(decode_value(rest, numbers));
}

TEST_CASE("arguments: values that differ by worker make one text for each", "[coordinator]") {
  using Two = std::tuple<int, double&>;
  const auto encoded = encode_arguments(static_cast<const Two*>(nullptr), "f", 2, 1000, PerWorkerValues<int>{{5, 6}},
                                        PerWorker<double>{300});
  REQUIRE(encoded.size() == 2);
  for (int worker = 0; worker < 2; ++worker) {
    ByteView rest = encoded[static_cast<std::size_t>(worker)]->bytes();
    int number = 0;
    std::uint64_t resource = 0;
    REQUIRE(decode_value(rest, number));
    REQUIRE(distrib::detail::read_varint(rest, resource));
    CHECK(number == 5 + worker);
    CHECK(resource == 300);
    CHECK(rest.empty());
  }
  CHECK_THROWS_WITH(encode_arguments(static_cast<const Two*>(nullptr), "f", 3, 1000, PerWorkerValues<int>{{5, 6}},
                                     PerWorker<double>{300}),
                    ContainsSubstring("f: PerWorkerValues has 2 values for 3 workers"));
}

TEST_CASE("arguments: more bytes than allowed are refused", "[coordinator]") {
  using Text = std::tuple<std::string>;
  CHECK(encode_arguments(static_cast<const Text*>(nullptr), "f", 1, 10, std::string(8, 'x'))[0]->size() == 10);
  try {
    static_cast<void>(encode_arguments(static_cast<const Text*>(nullptr), "f", 1, 10, std::string(9, 'x')));
    FAIL();
  } catch (const std::system_error& error) {
    CHECK(error.code() == coordinator_errc::too_large);
  }
}
