// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/json_line.hpp"

#include "support/catch.hpp"

#include <limits>
#include <string>

using tools::base64;
using tools::float_json;
using tools::JsonLine;

TEST_CASE("an object") {
  CHECK(JsonLine{}.text() == "{}");
  CHECK(JsonLine{}.add("file", std::string{"a\"b\n"}).add("records", 7U).add("good", true).text() ==
        R"({"file":"a\"b\n","records":7,"good":true})");
  CHECK(JsonLine{}.add_json("list", "[1,2]").text() == R"({"list":[1,2]})");
}

TEST_CASE("base64 is that of RFC 4648, section 10") {
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

TEST_CASE("floats that JSON has no number for") {
  CHECK(float_json(0.5F) == "0.5");
  CHECK(float_json(std::numeric_limits<float>::infinity()) == "\"Infinity\"");
  CHECK(float_json(-std::numeric_limits<float>::infinity()) == "\"-Infinity\"");
  CHECK(float_json(std::numeric_limits<float>::quiet_NaN()) == "\"NaN\"");
}
