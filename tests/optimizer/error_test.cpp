// SPDX-License-Identifier: Apache-2.0
#include <distrib/optimizer/error.hpp>

#include "support/catch.hpp"

#include <string>

using distrib::optimizer_errc;

TEST_CASE("optimizer_errc: each is an invalid argument with a text", "[optimizer]") {
  for (const auto value :
       {optimizer_errc::accumulator_not_positive, optimizer_errc::negative, optimizer_errc::positive_power,
        optimizer_errc::bad_schedule, optimizer_errc::clipping_not_positive, optimizer_errc::bad_decay,
        optimizer_errc::dampened_nesterov}) {
    const std::error_code code = value;
    CHECK(std::string{code.category().name()} == "distrib.optimizer");
    CHECK(code == distrib::failure::invalid_argument);
    CHECK_FALSE(code.message().empty());
  }
}
