// SPDX-License-Identifier: Apache-2.0
#include <distrib/coordinator/error.hpp>

#include "support/catch.hpp"

using distrib::coordinator_errc;
using distrib::failure;

TEST_CASE("coordinator_errc: each code has a text and a shared condition", "[coordinator]") {
  CHECK(std::string{distrib::detail::coordinator_category().name()} == "distrib.coordinator");
  for (int value = 1; value <= static_cast<int>(coordinator_errc::over); ++value) {
    const auto code = make_error_code(static_cast<coordinator_errc>(value));
    CHECK(code.message() != "unknown error");
    CHECK(code.default_error_condition().category() == distrib::failure_category());
  }
  CHECK(make_error_code(coordinator_errc::function_failed) == failure::invalid_argument);
  CHECK(make_error_code(coordinator_errc::cancelled) == failure::cancelled);
  CHECK(make_error_code(coordinator_errc::workers_lost) == failure::unavailable);
  CHECK(make_error_code(coordinator_errc::ps_lost) == failure::unavailable);
  CHECK(make_error_code(coordinator_errc::timed_out) == failure::timeout);
  CHECK(make_error_code(coordinator_errc::too_large) == failure::exhausted);
}
