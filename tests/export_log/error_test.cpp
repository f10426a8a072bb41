// SPDX-License-Identifier: Apache-2.0
#include <distrib/export_log/error.hpp>

#include "support/catch.hpp"

#include <string>

TEST_CASE("errors of export logs have texts and kinds") {
  const std::error_code missing = distrib::export_errc::missing_object;
  CHECK(missing.category().name() == std::string{"distrib.export_log"});
  CHECK(missing == distrib::failure::not_found);
  CHECK(make_error_code(distrib::export_errc::wrong_digest) == distrib::failure::corrupt);
  CHECK(make_error_code(distrib::export_errc::too_large) == distrib::failure::exhausted);
  CHECK(make_error_code(distrib::export_errc::no_locks).message().find("another file system") != std::string::npos);
}
