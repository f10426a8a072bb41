// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/s3/s3_error.hpp>

#include "support/catch.hpp"

#include <set>

TEST_CASE("s3_errc: every code has a text of its own and a condition", "[remote][s3]") {
  std::set<std::string> texts;
  for (int value = 1; value <= static_cast<int>(distrib::s3_errc::closed); ++value) {
    const std::error_code code = static_cast<distrib::s3_errc>(value);
    CHECK(std::string{code.category().name()} == "distrib.s3");
    CHECK(code.message() != "unknown error");
    CHECK(texts.insert(code.message()).second);
    CHECK(code.default_error_condition().category() == distrib::failure_category());
  }
  CHECK(std::error_code{distrib::s3_errc::busy} == distrib::failure::unavailable);
  CHECK(std::error_code{distrib::s3_errc::no_such_object} == distrib::failure::not_found);
}
