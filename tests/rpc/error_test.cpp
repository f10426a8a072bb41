// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/error.hpp>

#include "support/catch.hpp"

using distrib::rpc_errc;

TEST_CASE("rpc_errc: each code has a text and a shared condition", "[rpc]") {
  CHECK(std::string{distrib::detail::rpc_category().name()} == "distrib.rpc");
  for (int value = 1; value <= static_cast<int>(rpc_errc::no_secret); ++value)
    CHECK(make_error_code(static_cast<rpc_errc>(value)).message() != "unknown error");
  CHECK(make_error_code(rpc_errc::lost) == distrib::failure::unavailable);
  CHECK(make_error_code(rpc_errc::deadline_passed) == distrib::failure::timeout);
  CHECK(make_error_code(rpc_errc::unauthorized) == distrib::failure::mismatch);
  CHECK(make_error_code(rpc_errc::unknown_method) == distrib::failure::unsupported);
}
