// SPDX-License-Identifier: Apache-2.0
#include <distrib/rpc/server_event.hpp>

#include "support/catch.hpp"

TEST_CASE("ServerEvent: one that was made says nothing", "[rpc]") {
  const distrib::ServerEvent event;
  CHECK(event.kind == distrib::ServerEvent::Kind::greeted);
  CHECK(event.call == 0);
  CHECK(event.head.empty());
  CHECK(event.body.empty());
}
