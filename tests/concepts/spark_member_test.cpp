// SPDX-License-Identifier: Apache-2.0
#include <distrib/spark/spark_schema.hpp>

#include "support/catch.hpp"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace {
template <class... Ms>
constexpr bool all_spark_members = (distrib::SparkMember<Ms> && ...);
template <class... Ms>
constexpr bool no_spark_members = (!distrib::SparkMember<Ms> && ...);
}  // namespace

TEST_CASE("SparkMember: accepts the types of columns, refuses similar types", "[concepts]") {
  STATIC_REQUIRE(all_spark_members<bool, std::int32_t, std::int64_t, float, double, distrib::SparkDecimal, std::string,
                                   std::vector<std::byte>, distrib::SparkVector, distrib::SparkSparseVector>);
  STATIC_REQUIRE(
      all_spark_members<std::vector<bool>, std::vector<std::vector<std::byte>>, std::vector<std::vector<double>>,
                        std::vector<std::vector<std::vector<std::byte>>>, std::optional<std::vector<std::string>>>);
  STATIC_REQUIRE(
      no_spark_members<short, char, std::uint32_t, std::uint64_t, long double, std::string_view, std::vector<char>>);
  STATIC_REQUIRE(no_spark_members<std::vector<distrib::SparkVector>, std::vector<std::vector<std::vector<float>>>,
                                  std::vector<std::optional<float>>, std::optional<std::optional<float>>>);
}
