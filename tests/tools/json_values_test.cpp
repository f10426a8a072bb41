// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/json_values.hpp"

#include "support/catch.hpp"

#include <limits>
#include <string>

using tools::base64;
using tools::number_text;
using tools::short_text;

TEST_CASE("base64: the examples of RFC 4648, section 10") {
  const auto of = [](std::string_view text) { return base64(distrib::as_bytes(text)); };
  CHECK(of("") == "");
  CHECK(of("f") == "Zg==");
  CHECK(of("fo") == "Zm8=");
  CHECK(of("foo") == "Zm9v");
  CHECK(of("foob") == "Zm9vYg==");
  CHECK(of("fooba") == "Zm9vYmE=");
  CHECK(of("foobar") == "Zm9vYmFy");
  CHECK(of("\xff\xfe\xfd") == "//79");
}

TEST_CASE("numbers that JSON does not have") {
  const double infinity = std::numeric_limits<double>::infinity();
  CHECK(number_text(std::numeric_limits<double>::quiet_NaN()) == "NaN");
  CHECK(number_text(-infinity) == "-Infinity");
  CHECK(number_text(0.5F) == "0.5");
  CHECK(number_text(-7) == "-7");
  CHECK(short_text(double{0.1F}) == "0.1");
  CHECK(short_text(0.1) == "0.1");
  CHECK(short_text(16777217) == "16777217");
  CHECK(short_text(1e300) == "1e+300");
  CHECK(short_text(-infinity) == "-Infinity");
  CHECK(short_text(std::numeric_limits<double>::quiet_NaN()) == "NaN");
}
