// SPDX-License-Identifier: Apache-2.0
#include <distrib/spark/spark_partitions.hpp>

#include "support/catch.hpp"

#include <cmath>
#include <limits>
#include <optional>
#include <string>
#include <vector>

using distrib::escape_partition;
using distrib::infer_partition_type;
using distrib::parse_partition_directory;
using distrib::partition_directory;
using distrib::read_partition;
using distrib::spark_errc;
using distrib::SparkPartition;
using distrib::unescape_partition;

TEST_CASE("partitions: escaped text, and the text parsed from it", "[hadoop]") {
  CHECK(escape_partition("a b/é=1") == "a b%2Fé%3D1");
  CHECK(escape_partition("\"#%'*:?\\{[]^\x01\x1F\x7F") == "%22%23%25%27%2A%3A%3F%5C%7B%5B%5D%5E%01%1F%7F");
  CHECK(escape_partition("}<>|&+.,;@!$()~`-_") == "}<>|&+.,;@!$()~`-_");
  std::string all;
  for (int c = 0; c < 128; ++c) all += static_cast<char>(c);
  CHECK(unescape_partition(escape_partition(all)) == all);
  CHECK(unescape_partition("%2f%") == "/%");
  CHECK(unescape_partition("100%") == "100%");
  CHECK(unescape_partition("%4") == "%4");
  CHECK(unescape_partition("%zz%+1") == "%zz%+1");
  CHECK(unescape_partition("%E9") == "\xC3\xA9");  // U+00E9, as a char of Java
  CHECK(unescape_partition("%41") == "A");
}

TEST_CASE("partitions: names of directories", "[hadoop]") {
  CHECK(partition_directory({"kind", "a/b"}) == "kind=a%2Fb");
  CHECK(partition_directory({"k=v", std::nullopt}) == "k%3Dv=__HIVE_DEFAULT_PARTITION__");
  CHECK(partition_directory({"kind", ""}) == "kind=__HIVE_DEFAULT_PARTITION__");
  CHECK(parse_partition_directory("kind=a%2Fb=c") == SparkPartition{"kind", "a/b=c"});
  CHECK(parse_partition_directory("k%3Dv=__HIVE_DEFAULT_PARTITION__") == SparkPartition{"k=v", std::nullopt});
  CHECK(parse_partition_directory("kind=") == SparkPartition{"kind", ""});
  CHECK(!parse_partition_directory("=x"));
  CHECK(!parse_partition_directory("part-00000"));
}

TEST_CASE("partitions: types of values", "[hadoop]") {
  const auto type = [](const std::vector<distrib::SparkPartitionValue>& values) {
    return to_text(infer_partition_type(values));
  };
  CHECK(type({"0", "-7", std::nullopt, "007", "+3"}) == "Integer");
  CHECK(type({"1", "2147483648"}) == "Long");
  CHECK(type({"1", "99999999999999999999"}) == "Decimal");
  CHECK(type({"1", "1.5"}) == "Double");
  CHECK(type({"NaN", "1e5", "-Infinity", ".5"}) == "Double");
  CHECK(type({"2147483648", "1.5"}) == "String");  // as in Spark, because a double cannot hold every Long
  CHECK(type({"99999999999999999999", "1.5"}) == "String");
  CHECK(type({"1", "x"}) == "String");
  CHECK(type({"2026-11-26"}) == "String");
  for (const char* const text : {"inf", "nan", "0x10", "1 ", "", "+-1", "1f"}) CHECK(type({text}) == "String");
  CHECK(type({std::nullopt}) == "String");
  CHECK(type({}) == "String");
}

TEST_CASE("partitions: values read into members", "[hadoop]") {
  const auto read = []<class M>(const distrib::SparkPartitionValue& value, M) {
    M member{};
    read_partition(value, member);
    return member;
  };
  const auto code = []<class M>(const distrib::SparkPartitionValue& value, M member) {
    std::error_code ec;
    read_partition(value, member, ec);
    return ec;
  };
  CHECK(read("007", 0) == 7);
  CHECK(read("-9223372036854775808", std::int64_t{}) == std::int64_t{-9223372036854775807 - 1});
  CHECK(read("true", false));
  CHECK(!read("false", true));
  CHECK(read("1.5", 0.0) == 1.5);
  CHECK(std::isinf(read("-Infinity", 0.0F)));
  CHECK(read("2.5", distrib::SparkDecimal{}).value == 2.5);
  CHECK(read("007", std::string{}) == "007");
  CHECK(read("a", std::vector<std::byte>{}) == std::vector<std::byte>{std::byte{'a'}});
  CHECK(read("5", std::optional<std::int32_t>{}) == 5);
  CHECK(!read(std::nullopt, std::optional<std::int32_t>{5}));
  CHECK(code(std::nullopt, 0) == spark_errc::null_value);
  CHECK(code("x", std::optional<std::int32_t>{}) == spark_errc::bad_partition_value);
  CHECK(code("2147483648", 0) == spark_errc::bad_partition_value);
  CHECK(code("TRUE", false) == spark_errc::bad_partition_value);
  CHECK(code("1x", 0.0) == spark_errc::bad_partition_value);
  CHECK(read("3.4028235e38", 0.0F) == std::numeric_limits<float>::max());
  CHECK(read("3.40282356e38", 0.0F) == std::numeric_limits<float>::max());  // rounds to it
  CHECK(read("-Infinity", 0.0F) == -std::numeric_limits<float>::infinity());
  CHECK(std::isnan(read("NaN", 0.0F)));
  CHECK(read("1e-300", 1.0F) == 0);
  for (const char* const text : {"1e300", "-1e300", "3.40282357e38"}) {  // Spark reads them as infinity
    CHECK(code(text, 0.0F) == spark_errc::bad_partition_value);
    CHECK(code(text, std::optional<float>{}) == spark_errc::bad_partition_value);
    CHECK(!code(text, 0.0));
  }
  for (const char* const text : {"1e400", "-1e400"}) CHECK(code(text, 0.0) == spark_errc::bad_partition_value);
  CHECK_THROWS_AS(read("x", 0), std::system_error);
  CHECK_THROWS_AS(read(std::nullopt, 0), std::system_error);
  STATIC_REQUIRE(!distrib::SparkPartitionMember<std::vector<float>>);
  STATIC_REQUIRE(!distrib::SparkPartitionMember<distrib::SparkVector>);
}
