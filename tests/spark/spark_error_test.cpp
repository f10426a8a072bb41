// SPDX-License-Identifier: Apache-2.0
#include <distrib/spark/spark_error.hpp>

#include "support/catch.hpp"

#include <string>

using distrib::spark_errc;

TEST_CASE("spark_errc: every member has a text and a condition", "[hadoop]") {
  const std::error_code null = spark_errc::null_value;
  CHECK(null.category().name() == std::string{"distrib.spark"});
  CHECK(null == distrib::failure::mismatch);
  CHECK(std::error_code{spark_errc::unsupported_type} == distrib::failure::unsupported);
  CHECK(std::error_code{spark_errc::unfinished} == distrib::failure::unavailable);
  for (int value = 1; value <= static_cast<int>(spark_errc::half_replaced); ++value)
    CHECK(distrib::detail::spark_category().message(value) != "unknown error");
  CHECK(distrib::detail::spark_category().message(static_cast<int>(spark_errc::half_replaced) + 1) == "unknown error");
}
