// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/exit_status.hpp"

#include "support/catch.hpp"

#include <distrib/data/order/error.hpp>
#include <distrib/example/error.hpp>
#include <distrib/net/error.hpp>
#include <distrib/record/error.hpp>

#include <cerrno>

using tools::exit_status;

TEST_CASE("exit_status: the exit code for a failure") {
  CHECK(exit_status({ENOENT, std::generic_category()}) == 66);
  CHECK(exit_status({EACCES, std::generic_category()}) == 66);
  CHECK(exit_status({EISDIR, std::generic_category()}) == 66);
  CHECK(exit_status({ENOSPC, std::generic_category()}) == 74);
  CHECK(exit_status(distrib::net_errc::refused) == 69);
  CHECK(exit_status(distrib::net_errc::timed_out) == 69);
  CHECK(exit_status(distrib::data_errc::no_files) == 66);
  CHECK(exit_status(distrib::record_errc::corrupt_payload) == 1);
  CHECK(exit_status(distrib::record_errc::truncated_compression) == 1);
  CHECK(exit_status(distrib::record_errc::too_large) == 64);
  CHECK(exit_status(distrib::example_errc::malformed) == 1);
  CHECK(exit_status(distrib::record_errc::compressed) == 64);
  CHECK(exit_status(distrib::record_errc::bad_level) == 64);
}
