// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/json_text.hpp>

#include "support/catch.hpp"

#include <cstdint>
#include <limits>
#include <nlohmann/json.hpp>
#include <string>
#include <vector>

using distrib::json_array;
using distrib::json_text;
using distrib::JsonObject;

TEST_CASE("json_text: strings", "[core][json]") {
  CHECK(json_text("") == R"("")");
  CHECK(json_text("out/model-6000") == R"("out/model-6000")");
  CHECK(json_text("a\"b\\c\nd\te\x01\x1f") == R"("a\"b\\c\nd\u0009e\u0001\u001f")");
  CHECK(json_text("Gr\xC3\xBC\xC3\x9F"
                  "e \xE2\x82\xAC \xF0\x9F\x98\x80") ==
        "\"Gr\xC3\xBC\xC3\x9F"
        "e \xE2\x82\xAC \xF0\x9F\x98\x80\"");
  CHECK(json_text("cut \xE2\x82") == "\"cut \xEF\xBF\xBD\xEF\xBF\xBD\"");
}

TEST_CASE("json_text: the result is JSON for every pair of bytes", "[core][json]") {
  for (int first = 0; first < 256; ++first)
    for (int second = 0; second < 256; ++second) {
      const std::string bytes{static_cast<char>(first), static_cast<char>(second)};
      const auto back = nlohmann::json::parse(json_text(bytes), nullptr, false);
      if (!back.is_string()) FAIL(first << " " << second);
      if (first < 0x80 && second < 0x80 && back.get<std::string>() != bytes) FAIL(first << " " << second);
    }
}

TEST_CASE("json_text: numbers and bools", "[core][json]") {
  CHECK(json_text(true) == "true");
  CHECK(json_text(false) == "false");
  CHECK(json_text(6000) == "6000");
  CHECK(json_text(std::numeric_limits<std::int64_t>::min()) == "-9223372036854775808");
  CHECK(json_text(std::numeric_limits<std::uint64_t>::max()) == "18446744073709551615");
  CHECK(json_text(0.1F) == "0.1");
  CHECK(json_text(0.1) == "0.1");
  CHECK(json_text(3.0) == "3");
  CHECK(json_text(1e-8) == "1e-08");
  CHECK(json_text(std::numeric_limits<double>::max()) == "1.7976931348623157e+308");
  CHECK(json_text(std::numeric_limits<double>::infinity()) == R"("Infinity")");
  CHECK(json_text(-std::numeric_limits<float>::infinity()) == R"("-Infinity")");
  CHECK(json_text(std::numeric_limits<float>::quiet_NaN()) == R"("NaN")");
  CHECK(json_text(-std::numeric_limits<double>::quiet_NaN()) == R"("NaN")");
}

TEST_CASE("JsonObject: members in their order", "[core]") {
  CHECK(JsonObject{}.text() == "{}");
  CHECK(JsonObject{}.add("file", std::string{"a\"b\n"}).add("records", 7U).add("good", true).text() ==
        R"({"file":"a\"b\n","records":7,"good":true})");
  CHECK(JsonObject{}.add_json("list", "[1,2]").text() == R"({"list":[1,2]})");
}

TEST_CASE("JsonObject: numbers that JSON does not have", "[core]") {
  const double inf = std::numeric_limits<double>::infinity();
  CHECK(JsonObject{}.add("a", std::numeric_limits<float>::quiet_NaN()).add("b", inf).add("c", -inf).text() ==
        R"({"a":"NaN","b":"Infinity","c":"-Infinity"})");
}

TEST_CASE("json_array: what the function makes of each element", "[core]") {
  const auto to_json = [](int i) { return JsonObject{}.add("i", i).text(); };
  CHECK(json_array(std::vector<int>{}, to_json) == "[]");
  CHECK(json_array(std::vector{1, 2}, to_json) == R"([{"i":1},{"i":2}])");
}
