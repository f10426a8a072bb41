// SPDX-License-Identifier: Apache-2.0
#include <distrib/core/host_port.hpp>

#include "support/catch.hpp"

using distrib::detail::host_port;

TEST_CASE("host_port: puts brackets around an IPv6 address only", "[core]") {
  CHECK(host_port("a.example", "80") == "a.example:80");
  CHECK(host_port("10.0.0.1", "5000") == "10.0.0.1:5000");
  CHECK(host_port("2001:db8::5", "5000") == "[2001:db8::5]:5000");
  CHECK(host_port("::1", "0") == "[::1]:0");
  CHECK(host_port("fe80::1%eth0", "1") == "[fe80::1%eth0]:1");
  CHECK(host_port("[::1]", "80") == "[::1]:80");
  CHECK(host_port("", "80") == ":80");
}
