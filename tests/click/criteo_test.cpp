// SPDX-License-Identifier: Apache-2.0
#include "examples/click/criteo.hpp"

#include "examples/click/generator.hpp"
#include "support/catch.hpp"

#include <array>
#include <cstdint>
#include <stdexcept>
#include <string>

namespace {

// Returns a line with these fields; all others are empty.
auto line(const std::string& label, const std::string& first_number = "", const std::string& first_token = "") {
  return label + "\t" + first_number + std::string(13, '\t') + first_token + std::string(25, '\t');
}

}  // namespace

TEST_CASE("parse_criteo: a line in the format of the data set", "[click]") {
  const ClickExample example = parse_criteo(
      "1\t3\t-2\t40\t0\t1707\t8\t16\t1\t99\t2\t7\t\t5\t0a1b2c3d\t00000001\t00000002\t00000003\t00000004\t00000005\t"
      "00000006\t00000007\t00000008\t00000009\t0000000a\t0000000b\t0000000c\t0000000d\t0000000e\t0000000f\t00000010\t"
      "00000011\t00000012\t00000013\tfedcba98\t\t00000016\t00000017\t00000018\tffffffff");
  CHECK(example.label == 1);
  CHECK(example.numbers == std::array<float, 13>{3, 0, 40, 0, 1707, 8, 16, 1, 99, 2, 7, -1, 5});
  CHECK(example.categories[0] == 0x0a1b2c3d);
  CHECK(example.categories[20] == 0xfedcba98);
  CHECK(example.categories[21] == -1);
  CHECK(example.categories[25] == 0xffffffff);
}

TEST_CASE("parse_criteo: everything except the label may be missing", "[click]") {
  const ClickExample example = parse_criteo(line("0"));
  CHECK(example.label == 0);
  for (const float x : example.numbers) CHECK(x == -1);
  for (const std::int64_t token : example.categories) CHECK(token == -1);
}

TEST_CASE("criteo_line: parse_criteo reads the same example back", "[click]") {
  const ClickGenerator generator{1};
  for (std::uint64_t i = 0; i < 500; ++i) {
    const ClickExample example = generator(ClickGenerator::Split::test, i).example;
    const std::string text = criteo_line(example);
    REQUIRE(text.ends_with('\n'));
    CHECK(parse_criteo(text.substr(0, text.size() - 1)) == example);
  }
}

TEST_CASE("parse_criteo: an error says what is wrong", "[click]") {
  CHECK_THROWS_WITH(parse_criteo(""), ContainsSubstring("1 fields between tabs, not 40"));
  CHECK_THROWS_WITH(parse_criteo(line("1") + "\t"), ContainsSubstring("41 fields between tabs, not 40"));
  CHECK_THROWS_WITH(parse_criteo(line("")), ContainsSubstring("field 1: '' is neither 0 nor 1"));
  CHECK_THROWS_WITH(parse_criteo(line("2")), ContainsSubstring("field 1: '2'"));
  for (const std::string number : {"1.5", "x", "1 ", "0x1", "99999999999999999999"})
    CHECK_THROWS_WITH(parse_criteo(line("1", number)),
                      ContainsSubstring("field 2: '" + number + "' is not a whole number"));
  for (const std::string token : {"68fd1e640", "-8fd1e64", "68fd1e6g", "68fd1e64\r"})
    CHECK_THROWS_WITH(parse_criteo(line("1", "", token)),
                      ContainsSubstring("field 15: '" + token + "' is not a token"));
  CHECK_THROWS_AS(parse_criteo(line("1", std::string(1'000, '7'))), std::invalid_argument);
}
