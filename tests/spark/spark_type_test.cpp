// SPDX-License-Identifier: Apache-2.0
#include <distrib/spark/spark_type.hpp>

#include <distrib/spark/spark_error.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <string>
#include <vector>

using distrib::spark_errc;
using Kind = distrib::SparkType::Kind;
using distrib::SparkType;
using distrib::detail::parse_record_type;
using distrib::detail::parse_spark_type;

TEST_CASE("SparkType: texts of types, and types parsed from them", "[hadoop]") {
  for (const char* const text : {"Boolean", "Integer", "Long", "Float", "Double", "Decimal", "String", "Binary",
                                 "Vector", "Array<Long>", "Array<Array<Binary>>"})
    CHECK(to_text(parse_spark_type(text)) == text);
  CHECK(parse_spark_type("Array<Float>") == SparkType{Kind::float_, 1});
  CHECK(to_text(SparkType{}) == "Null");
  for (const char* const text : {"", "Null", "long", "Timestamp", "Array<>", "Array<Long", "Array<Vector>",
                                 "Array<Array<Array<Long>>>", "Map<String,Long>"}) {
    CAPTURE(text);
    std::error_code ec;
    CHECK(parse_spark_type(text, ec) == SparkType{});
    CHECK(ec == spark_errc::unsupported_type);
  }
  CHECK_THROWS_AS(parse_spark_type("Date"), std::system_error);
}

TEST_CASE("SparkType: the connector's precedence", "[hadoop]") {
  unsigned last = 0;
  for (const char* const text : {"Long", "Float", "String", "Array<Long>", "Array<Float>", "Array<String>",
                                 "Array<Array<Long>>", "Array<Array<Float>>", "Array<Array<String>>"})
    CHECK(distrib::detail::precedence(parse_spark_type(text)) == ++last);
  CHECK(distrib::detail::precedence(parse_spark_type("Double")) == 0);
  CHECK(distrib::detail::precedence(SparkType{}) == 0);
}

TEST_CASE("round_to_float: a finite double beyond the range of a float becomes infinity and does not fit", "[hadoop]") {
  constexpr double infinity = std::numeric_limits<double>::infinity();
  constexpr float most = std::numeric_limits<float>::max();
  const auto rounded = [](double value, bool fits) {
    float to = 5;
    CHECK(distrib::detail::round_to_float(value, to) == fits);
    return to;
  };
  CHECK(rounded(0.1, true) == 0.1F);
  CHECK(rounded(-1e-300, true) == 0);
  CHECK(rounded(0x1.fffffefffffffp127, true) == most);
  CHECK(rounded(-0x1.fffffefffffffp127, true) == -most);
  CHECK(rounded(0x1.ffffffp127, false) == std::numeric_limits<float>::infinity());
  CHECK(rounded(-1e300, false) == -std::numeric_limits<float>::infinity());
  CHECK(rounded(infinity, true) == std::numeric_limits<float>::infinity());
  CHECK(rounded(-infinity, true) == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(rounded(std::numeric_limits<double>::quiet_NaN(), true)));
}

TEST_CASE("SparkRecordType: parses the option recordType", "[hadoop]") {
  CHECK(parse_record_type("Example") == distrib::SparkRecordType::example);
  CHECK(parse_record_type("SequenceExample") == distrib::SparkRecordType::sequence_example);
  std::error_code ec;
  (void)parse_record_type("example", ec);
  CHECK(ec == spark_errc::unknown_record_type);
  CHECK_THROWS_AS(parse_record_type("TFRecord"), std::system_error);
}
