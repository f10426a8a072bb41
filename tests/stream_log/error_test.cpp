// SPDX-License-Identifier: Apache-2.0
#include <distrib/stream_log/error.hpp>

#include "support/catch.hpp"

#include <string>

TEST_CASE("errors of stream logs have texts and kinds") {
  const std::error_code gone = distrib::stream_errc::source_gone;
  CHECK(gone.category().name() == std::string{"distrib.stream_log"});
  CHECK(gone == distrib::failure::not_found);
  CHECK(make_error_code(distrib::stream_errc::bad_log) == distrib::failure::corrupt);
  CHECK(make_error_code(distrib::stream_errc::newer_version) == distrib::failure::unsupported);
  CHECK(make_error_code(distrib::stream_errc::source_replaced) == distrib::failure::mismatch);
  CHECK(make_error_code(distrib::stream_errc::no_conditions) == distrib::failure::unsupported);
  CHECK(make_error_code(distrib::stream_errc::records_expired).message().find("keep them for longer") !=
        std::string::npos);
}
