// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/json_error.hpp>

#include "support/catch.hpp"

#include <string>

using distrib::json_errc;

TEST_CASE("json_errc: every value has its own message", "[core][json]") {
  for (int value = 1; value <= static_cast<int>(json_errc::trailing_text); ++value) {
    const std::error_code code = static_cast<json_errc>(value);
    CAPTURE(value);
    CHECK(code.category().name() == std::string{"distrib.json"});
    CHECK(code.message() != "unknown error");
    CHECK(code.default_error_condition().category() == distrib::failure_category());
  }
  CHECK(std::error_code{json_errc::bad_utf8} == distrib::failure::invalid_argument);
  CHECK(std::error_code{json_errc::too_deep} == distrib::failure::exhausted);
}
