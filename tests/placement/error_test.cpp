// SPDX-License-Identifier: Apache-2.0
#include <distrib/placement/error.hpp>

#include "support/catch.hpp"

using distrib::placement_errc;

TEST_CASE("placement_errc: every value has its own message", "[placement]") {
  for (int value = 1; value <= static_cast<int>(placement_errc::zero_weight); ++value) {
    const std::error_code code = static_cast<placement_errc>(value);
    CAPTURE(value);
    CHECK(code.category().name() == std::string{"distrib.placement"});
    CHECK(code.message() != "unknown error");
    CHECK(code.default_error_condition().category() == distrib::failure_category());
  }
}
