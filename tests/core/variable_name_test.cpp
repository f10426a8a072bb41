// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/variable_name.hpp>

#include "support/catch.hpp"

#include <string_view>

TEST_CASE("valid_variable_name: one word without control characters", "[core]") {
  STATIC_REQUIRE(distrib::valid_variable_name("hidden/weights"));
  for (const char* name : {"w", "hidden/weights", "r\xc3\xa9seau/poids:0", "a=b[1],c"})
    CHECK(distrib::valid_variable_name(name));
  for (const char* name : {"", " ", "hidden weights", "w\n", "\tw", "w\r", "w\x7f"})
    CHECK_FALSE(distrib::valid_variable_name(name));
  CHECK_FALSE(distrib::valid_variable_name(std::string_view{"w\0", 2}));
}
