// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/http_error.hpp>

#include "support/catch.hpp"

using distrib::failure;
using distrib::http_errc;

TEST_CASE("http_errc: every member has a text and a condition", "[net]") {
  CHECK(std::string{distrib::detail::http_category().name()} == "distrib.http");
  for (int value = 1; value <= static_cast<int>(http_errc::bad_header); ++value) {
    const std::error_code ec = static_cast<http_errc>(value);
    CAPTURE(value);
    CHECK(ec.message() != "unknown error");
    CHECK(ec.default_error_condition().category() == distrib::failure_category());
  }
  CHECK(std::error_code{http_errc::ended_early} == failure::unavailable);
  CHECK(std::error_code{http_errc::timed_out} == failure::timeout);
  CHECK(std::error_code{http_errc::redirect_loop} == failure::unsupported);
}
