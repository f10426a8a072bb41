// SPDX-License-Identifier: Apache-2.0
#include <distrib/sharding/error.hpp>

#include "support/catch.hpp"

using distrib::sharding_errc;

TEST_CASE("sharding_errc: every value has its own message", "[sharding]") {
  for (int value = 1; value <= static_cast<int>(sharding_errc::too_large); ++value) {
    const std::error_code code = static_cast<sharding_errc>(value);
    CAPTURE(value);
    CHECK(code.category().name() == std::string{"distrib.sharding"});
    CHECK(code.message() != "unknown error");
    CHECK(code.default_error_condition().category() == distrib::failure_category());
  }
  CHECK(make_error_code(sharding_errc::not_positive) == distrib::failure::invalid_argument);
  CHECK(make_error_code(sharding_errc::not_div_layout) == distrib::failure::unsupported);
}
