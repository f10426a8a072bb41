// SPDX-License-Identifier: Apache-2.0
#include <distrib/example/error.hpp>

#include "support/catch.hpp"

#include <string>

using distrib::example_errc;
using distrib::failure;

TEST_CASE("example_errc: every member has a text and a condition", "[example]") {
  const std::error_code malformed = example_errc::malformed;
  CHECK(malformed.category().name() == std::string{"distrib.example"});
  CHECK(malformed == failure::corrupt);
  CHECK(std::error_code{example_errc::missing_feature} == failure::mismatch);
  CHECK(std::error_code{example_errc::unbound_member} == failure::invalid_argument);
  for (int value = 1; value <= 10; ++value)
    CHECK(distrib::detail::example_category().message(value) != "unknown error");
}
