// SPDX-License-Identifier: Apache-2.0
#include "tools/distrib/free_ports.hpp"

#include "support/catch.hpp"

#include <set>

TEST_CASE("free_ports: all ports are different", "[tools]") {
  const auto ports = tools::free_ports(50);
  CHECK(std::set(ports.begin(), ports.end()).size() == 50);
  CHECK(tools::free_ports(0).empty());
  for (const auto port : ports) CHECK(port >= 1024);
}
