// SPDX-License-Identifier: Apache-2.0
#include <distrib/remote/webhdfs_error.hpp>

#include "support/catch.hpp"

using distrib::webhdfs_errc;

TEST_CASE("webhdfs_errc: every member has a text and a condition", "[hadoop]") {
  CHECK(std::string{distrib::detail::webhdfs_category().name()} == "distrib.webhdfs");
  for (int value = 1; value <= static_cast<int>(webhdfs_errc::changed); ++value) {
    const std::error_code ec = static_cast<webhdfs_errc>(value);
    CAPTURE(value);
    CHECK(ec.message() != "unknown error");
    CHECK(ec.default_error_condition().category() == distrib::failure_category());
  }
  CHECK(std::error_code{webhdfs_errc::no_such_file} == distrib::failure::not_found);
  CHECK(std::error_code{webhdfs_errc::standby} == distrib::failure::unavailable);
}

TEST_CASE("webhdfs_meaning: depends on the class of the exception", "[hadoop]") {
  CHECK(distrib::detail::webhdfs_meaning("FileNotFoundException") == webhdfs_errc::no_such_file);
  CHECK(distrib::detail::webhdfs_meaning("AccessControlException") == webhdfs_errc::denied);
  CHECK(distrib::detail::webhdfs_meaning("StandbyException") == webhdfs_errc::standby);
  CHECK(distrib::detail::webhdfs_meaning("RetriableException") == webhdfs_errc::not_ready);
  CHECK(distrib::detail::webhdfs_meaning("DSQuotaExceededException") == webhdfs_errc::no_room);
  CHECK(distrib::detail::webhdfs_meaning("NobodyKnowsException") == webhdfs_errc::refused);
  CHECK(distrib::detail::webhdfs_meaning("") == webhdfs_errc::refused);
}
