// SPDX-License-Identifier: Apache-2.0
#include <distrib/summary/error.hpp>

#include "support/catch.hpp"

using distrib::failure;
using distrib::summary_errc;

TEST_CASE("summary_errc: every member has a text and a condition", "[summary][error]") {
  const struct {
    summary_errc value;
    failure kind;
  } cases[] = {
      {summary_errc::not_events, failure::invalid_argument},
      {summary_errc::corrupt_event, failure::corrupt},
      {summary_errc::no_event_files, failure::not_found},
  };
  for (const auto& c : cases) {
    const std::error_code code = c.value;
    CAPTURE(code.message());
    CHECK(code == c.kind);
    CHECK(code.message() != "unknown error");
    CHECK(std::string{code.category().name()} == "distrib.summary");
  }
}
