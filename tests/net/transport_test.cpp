// SPDX-License-Identifier: Apache-2.0
#include <distrib/net/transport.hpp>

#include "support/catch.hpp"

#include <distrib/net/error.hpp>

#include <cstdlib>

TEST_CASE("Transport: a program without one fails if its starter wants TLS", "[net]") {
  distrib::Error error;
  ::unsetenv("DISTRIB_TLS_DIRECTORY");
  distrib::detail::check_transport_of_job(nullptr, error);
  CHECK_FALSE(error);
  ::setenv("DISTRIB_TLS_DIRECTORY", "", 1);
  distrib::detail::check_transport_of_job(nullptr, error);
  CHECK_FALSE(error);
  ::setenv("DISTRIB_TLS_DIRECTORY", "/etc/distrib/tls", 1);
  distrib::detail::check_transport_of_job(nullptr, error);
  CHECK(error.code == distrib::net_errc::no_tls);
  CHECK_THAT(error.where, ContainsSubstring("this program speaks no TLS"));
  ::unsetenv("DISTRIB_TLS_DIRECTORY");
}
