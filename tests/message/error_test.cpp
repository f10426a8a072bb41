// SPDX-License-Identifier: Apache-2.0
#include <distrib/message/error.hpp>

#include "support/catch.hpp"

#include <string>

using distrib::failure;
using distrib::message_errc;

TEST_CASE("message_errc: every value has a message and a condition", "[message]") {
  const std::error_code too_large = message_errc::too_large;
  CHECK(too_large.category().name() == std::string{"distrib.message"});
  CHECK(too_large == failure::exhausted);
  CHECK(std::error_code{message_errc::malformed} == failure::corrupt);
  CHECK(std::error_code{message_errc::incomplete} == failure::invalid_argument);
  for (int value = 1; value <= 3; ++value) CHECK(distrib::detail::message_category().message(value) != "unknown error");
}
