// SPDX-License-Identifier: Apache-2.0
#include <distrib/data/order/error.hpp>

#include "support/catch.hpp"

#include <string>

using distrib::data_errc;
using distrib::failure;

TEST_CASE("data_errc: every member has a text and a condition", "[data]") {
  const std::error_code no_files = data_errc::no_files;
  CHECK(no_files.category().name() == std::string{"distrib.data"});
  CHECK(no_files == failure::not_found);
  CHECK(std::error_code{data_errc::inflated_too_large} == failure::exhausted);
  CHECK(std::error_code{data_errc::no_such_batch} == failure::invalid_argument);
  for (int value = 1; value <= 6; ++value) CHECK(distrib::detail::data_category().message(value) != "unknown error");
}
